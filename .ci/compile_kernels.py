"""Compiles kernels/*.cu to kernels/ptx/*.ptx, which the program embeds (of paper_*.cu: benches). Needs neither a GPU nor a driver.

    python3 .ci/compile_kernels.py            write the PTX
    python3 .ci/compile_kernels.py --check    fail where the PTX in the repository is not what the sources give

The compiler is NVRTC 12.0, fetched from PyPI into target/nvrtc: its PTX loads in every driver of CUDA 12.0 or later.
A warning is a failure.
"""

import ctypes
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WHEEL = "nvidia-cuda-nvrtc-cu12==12.0.140"
# The oldest that 12.0 writes without complaint, so that any card since 2014 runs them.
ARCHITECTURE = "compute_52"
# Kernels whose functions may be approximate: they are judged by the CPU's within statistics.
FAST_MATH = {"mc.cu"}


def fetch_compiler():
    """The folder of the libraries, in a virtual environment under target/."""
    home = ROOT / "target" / "nvrtc"
    pattern = "lib/python3*/site-packages/nvidia/cuda_nvrtc/lib"
    if not list(home.glob(pattern)):
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        pip = [home / "bin" / "pip", "install", "-q", "--disable-pip-version-check", WHEEL]
        subprocess.run(pip, check=True)
    return next(home.glob(pattern))


def load_compiler():
    folder = fetch_compiler()
    ctypes.CDLL(str(folder / "libnvrtc-builtins.so.12.0"), mode=ctypes.RTLD_GLOBAL)
    lib = ctypes.CDLL(str(folder / "libnvrtc.so.12"))
    version = (ctypes.c_int * 2)()
    lib.nvrtcVersion(ctypes.byref(version, 0), ctypes.byref(version, 4))
    if list(version) != [12, 0]:
        sys.exit(f"target/nvrtc holds NVRTC {version[0]}.{version[1]}, not 12.0: remove target/nvrtc and run this again")
    return lib


def compile_one(lib, path):
    """The PTX of one source; leaves with the compiler's words where it has any."""
    program = ctypes.c_void_p()
    lib.nvrtcCreateProgram(ctypes.byref(program), path.read_bytes(), path.name.encode(), 0, None, None)
    words = [f"--gpu-architecture={ARCHITECTURE}", "--std=c++17", f"--include-path={path.parent}"]
    if path.name in FAST_MATH:
        words.append("--use_fast_math")
    options = (ctypes.c_char_p * len(words))(*[w.encode() for w in words])
    failed = lib.nvrtcCompileProgram(program, len(words), options)
    size = ctypes.c_size_t()
    lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetProgramLog(program, log)
    text = log.value.decode(errors="replace").strip()
    if failed or text:
        sys.exit(f"{text}\n{path} does not compile cleanly for {ARCHITECTURE}")
    lib.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    lib.nvrtcGetPTX(program, ptx)
    lib.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx.value


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    sources = sorted((ROOT / "kernels").glob("*.cu"))
    folder = ROOT / "kernels" / "ptx"
    lib = load_compiler()
    stale = {p.name for p in folder.glob("*.ptx")} - {s.with_suffix(".ptx").name for s in sources}
    wrong = [f"{folder / name} belongs to no kernels/*.cu: remove it" for name in sorted(stale)]
    for source in sources:
        ptx, target = compile_one(lib, source), folder / source.with_suffix(".ptx").name
        print(f"{source.relative_to(ROOT)} {ARCHITECTURE}: {len(ptx)} bytes of PTX")
        if not check:
            folder.mkdir(exist_ok=True)
            target.write_bytes(ptx)
        elif not target.exists() or target.read_bytes() != ptx:
            wrong.append(f"{target.relative_to(ROOT)} is not what {source.relative_to(ROOT)} gives: "
                         "run python3 .ci/compile_kernels.py and commit it")
    if wrong:
        sys.exit("\n".join(wrong))


main()
