"""Compiles CUDA sources to PTX with NVRTC, which needs neither a GPU nor a driver. Fails on the first that does not."""

import ctypes
import glob
import pathlib
import sys

ARCHITECTURES = ["compute_70", "compute_80", "compute_90"]


def nvrtc():
    pattern = str(pathlib.Path(sys.prefix) / "lib/python3*/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.*")
    found = glob.glob(pattern)
    if not found:
        sys.exit(f"no libnvrtc in {pattern}: pip install nvidia-cuda-nvrtc-cu12")
    return ctypes.CDLL(found[0])


def compile_one(lib, path, architecture):
    program = ctypes.c_void_p()
    source = pathlib.Path(path).read_bytes()
    lib.nvrtcCreateProgram(ctypes.byref(program), source, path.encode(), 0, None, None)
    words = [f"--gpu-architecture={architecture}", "--std=c++17", f"--include-path={pathlib.Path(path).parent}"]
    options = (ctypes.c_char_p * len(words))(*[w.encode() for w in words])
    failed = lib.nvrtcCompileProgram(program, len(words), options)
    size = ctypes.c_size_t()
    lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetProgramLog(program, log)
    text = log.value.decode(errors="replace").strip()
    if text:
        print(text)
    if failed:
        sys.exit(f"{path} does not compile for {architecture}")
    lib.nvrtcGetPTXSize(program, ctypes.byref(size))
    print(f"{path} {architecture}: {size.value} bytes of PTX")
    lib.nvrtcDestroyProgram(ctypes.byref(program))


def main():
    lib = nvrtc()
    for path in sys.argv[1:]:
        for architecture in ARCHITECTURES:
            compile_one(lib, path, architecture)


main()
