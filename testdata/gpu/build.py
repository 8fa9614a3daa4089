"""Compiles the stand-ins. Needs gcc and g++ (or $CC and $CXX).

    python3 build.py DIRECTORY      builds there and prints the libraries' paths
"""

import os
import subprocess
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_SOURCES = os.path.join(_HERE, "standin")

# No inlining across the exported functions, no two of them at one address, and a frame in each from its first
# instruction.
_SHAPE = [
    "-fno-omit-frame-pointer",
    "-fno-optimize-sibling-calls",
    "-fno-ipa-icf",
    "-fno-shrink-wrap",
    "-fno-partial-inlining",
    "-mno-omit-leaf-frame-pointer",
    "-fno-schedule-insns2",
]
_COMMON = [
    "-O2",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-shared",
    "-fPIC",
    "-fvisibility=hidden",
    "-Wl,-z,defs",
    "-Wl,--as-needed",
    "-Wl,-rpath,$ORIGIN",
] + _SHAPE
# Every function of the H200's libcuda begins with push rbp (55 48 89 e5), none with endbr64. On arm64 the same are
# functions without and with a landing pad, bti c.
_ARM64 = os.uname().machine == "aarch64"
_PUSH = ["-mbranch-protection=none" if _ARM64 else "-fcf-protection=none"]
_ENDBR = ["-mbranch-protection=bti" if _ARM64 else "-fcf-protection=full"]

_DRIVER = [
    "contexts.c",
    "devices.c",
    "memory.c",
    "ranges.c",
    "vmm.c",
    "pools.c",
    "arrays.c",
    "ipc.c",
    "checkpoint.c",
    "streams.c",
    "symbols.c",
    "truth.c",
    "machine.c",
]

_RUNTIME = ["runtime.c", "runtime_arrays.c"]

# file, its other names, sources, further arguments; in the order of their dependencies
_LIBRARIES = [
    ("libcuda.so.580.0.0", ["libcuda.so.1", "libcuda.so"], _DRIVER, _PUSH + ["-Wl,-soname,libcuda.so.1", "-lpthread"]),
    (
        "libcudart.so.12.4.0",
        ["libcudart.so.12"],
        _RUNTIME + ["work.c", "properties.c", "graphs.c"],
        _ENDBR + ["-Wl,-soname,libcudart.so.12", "-ldl", "-lpthread"],
    ),
    ("libapp.so", [], ["app.c"], ["-L.", "-l:libcudart.so.12"]),
    ("libstatic_app.so", [], ["app.c"] + _RUNTIME, ["-DHIDDEN", "-ldl", "-lpthread"]),
    ("libc10.so", [], ["c10.cpp"], ["-Wl,-soname,libc10.so"]),
    (
        "libc10_cuda.so",
        [],
        ["caching.cpp", "expandable.cpp", "torch.cpp", "truth.o", "machine.o"],
        ["-Wl,-soname,libc10_cuda.so", "-L.", "-l:libcudart.so.12", "-l:libc10.so", "-ldl", "-lpthread"],
    ),
    ("libtruth_reader.so", [], ["reader.c"], []),
    ("libvisits.so", [], ["visits.c"], []),
]


def _compile(directory, arguments, language):
    compiler = os.environ.get("CXX", "g++") if language == "c++" else os.environ.get("CC", "gcc")
    subprocess.check_call(
        [compiler, "-std=" + ("gnu++17" if language == "c++" else "gnu11")] + arguments, cwd=directory
    )


def build(directory):
    """Makes every library in `directory`, which must exist, and returns their paths by name."""
    for name in ("truth", "machine"):       # C, for the library that is C++
        _compile(directory, _COMMON + ["-c", "-o", name + ".o", os.path.join(_SOURCES, name + ".c")], "c")
    paths = {}
    for name, links, sources, arguments in _LIBRARIES:
        files = [s if s.endswith(".o") else os.path.join(_SOURCES, s) for s in sources]
        _compile(directory, _COMMON + ["-o", name] + files + arguments, "c++" if sources[0].endswith(".cpp") else "c")
        for link in links:
            if os.path.lexists(os.path.join(directory, link)):
                os.remove(os.path.join(directory, link))
            os.symlink(name, os.path.join(directory, link))
        paths[name] = os.path.join(directory, name)
    for name in ("truth", "machine"):
        os.remove(os.path.join(directory, name + ".o"))
    return paths


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    print("\n".join(sorted(build(os.path.abspath(sys.argv[1])).values())))
