// A driver of one card that opens and then fails at its first kernels: what a program sees of a card that has fallen off the bus.
// With FAKE_CARD=opening it cannot even be opened. Only what the program calls is here.
#include <stdlib.h>
#include <string.h>

typedef int result;
enum { SUCCESS = 0, DEVICE_UNAVAILABLE = 46, ILLEGAL_ADDRESS = 700 };

result cuInit(unsigned flags) { return SUCCESS; }
result cuDriverGetVersion(int* version) { *version = 13000; return SUCCESS; }
result cuDeviceGetCount(int* count) { *count = 1; return SUCCESS; }
result cuDeviceGet(int* device, int ordinal) { *device = ordinal; return SUCCESS; }
result cuDeviceGetName(char* name, int length, int device)
{
    strncpy(name, "Broken card", length);
    return SUCCESS;
}
result cuDeviceTotalMem_v2(size_t* bytes, int device) { *bytes = (size_t)8 << 30; return SUCCESS; }
result cuDeviceGetAttribute(int* value, int attribute, int device) { *value = 0; return SUCCESS; }
result cuDevicePrimaryCtxRetain(void** context, int device)
{
    const char* how = getenv("FAKE_CARD");
    *context = &cuDeviceGetCount;
    return how && !strcmp(how, "opening") ? DEVICE_UNAVAILABLE : SUCCESS;
}
result cuDevicePrimaryCtxRelease_v2(int device) { return SUCCESS; }
result cuCtxSetCurrent(void* context) { return SUCCESS; }
result cuCtxGetCurrent(void** context) { *context = NULL; return SUCCESS; }
result cuCtxSynchronize(void) { return SUCCESS; }
result cuStreamCreate(void** stream, unsigned flags) { *stream = &cuDeviceGetCount; return SUCCESS; }
result cuStreamDestroy_v2(void* stream) { return SUCCESS; }
result cuStreamSynchronize(void* stream) { return SUCCESS; }
result cuMemGetInfo_v2(size_t* left, size_t* all) { *left = *all = (size_t)8 << 30; return SUCCESS; }
result cuMemAlloc_v2(unsigned long long* address, size_t bytes) { *address = 4096; return SUCCESS; }
result cuMemFree_v2(unsigned long long address) { return SUCCESS; }
result cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) { *memory = malloc(bytes); return SUCCESS; }
result cuMemFreeHost(void* memory) { free(memory); return SUCCESS; }
result cuEventCreate(void** event, unsigned flags) { *event = &cuDeviceGetCount; return SUCCESS; }
result cuEventDestroy_v2(void* event) { return SUCCESS; }
result cuEventSynchronize(void* event) { return SUCCESS; }
result cuEventRecord(void* event, void* stream) { return SUCCESS; }
result cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void* stream) { return SUCCESS; }
result cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void* stream) { return ILLEGAL_ADDRESS; }
result cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) { return ILLEGAL_ADDRESS; }
result cuModuleLoadData(void** module, const void* image) { return ILLEGAL_ADDRESS; }
result cuModuleLoadDataEx(void** module, const void* image, unsigned n, int* options, void** values) { return ILLEGAL_ADDRESS; }
result cuGetErrorString(result error, const char** text)
{
    *text = error == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "CUDA-capable device(s) is/are busy or unavailable";
    return SUCCESS;
}
