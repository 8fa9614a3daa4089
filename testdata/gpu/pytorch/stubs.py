"""Stand-ins for NVIDIA's libraries of mathematics, of which PyTorch's are linked against hundreds of functions: each does
nothing and returns 0, success. What is needed is read from the libraries that need it, so any build of PyTorch will do.

    python3 stubs.py DIRECTORY LIBRARY...      writes lib*.so.* into DIRECTORY for what the libraries lack
"""

import os
import re
import subprocess
import sys

# Whose names begin how, for libraries without versions of their symbols.
_BY_PREFIX = {"nccl": "libnccl.so.2"}
# The CUDA runtime has a stand-in that does something.
_RUNTIME = "libcudart.so.12"
# Where 0 alone would be an error: how many algorithms there are for a product of matrices.
_MORE = {"cublasLtMatmulAlgoGetHeuristic": "int %s(void *a, void *b, void *c, void *d, void *e, void *f, void *g, int h, void *i, "
                                           "int *found) { *found = 1; return 0; }\n"}
_LIBRARY = re.compile(r"^lib(?:cu(?!da\.)\w+|nv\w+|nccl)\.so\.\d+$")


def wanted(paths):
    """{library: {symbol}} of what the files need of NVIDIA's libraries. What several of them define is each one's."""
    found, needed = {}, set()
    for path in paths:
        dynamic = subprocess.run(["readelf", "-W", "-d", path], stdout=subprocess.PIPE, check=True, text=True).stdout
        needed.update(name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if _LIBRARY.match(name))
        symbols = subprocess.run(["readelf", "-W", "--dyn-syms", path], stdout=subprocess.PIPE, check=True, text=True).stdout
        for line in symbols.splitlines():
            fields = line.split()
            if len(fields) < 8 or fields[6] != "UND":
                continue
            name, _, version = fields[7].partition("@")
            library = version.lstrip("@") or next((lib for prefix, lib in _BY_PREFIX.items() if name.startswith(prefix)), "")
            if _LIBRARY.match(library):
                found.setdefault(library, set()).add(name)
    for library in needed:
        found.setdefault(library, set())
    return found


def write(directory, paths):
    """Compiles one library for each, all symbols with the library's name as their version, as NVIDIA's have."""
    libraries = wanted(paths)
    runtime = libraries.pop(_RUNTIME, set())
    for library, names in libraries.items():
        _compile(os.path.join(directory, library), library, "".join(_MORE.get(n, "long %s(void) { return 0; }\n") % n for n in sorted(names)))
    return sorted(libraries), runtime


def _compile(path, library, source):
    script = path + ".map"
    with open(script, "w") as f:
        f.write("%s { global: *; };\n" % library)
    # -ffreestanding: some names are known to the compiler, with other types
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-O1", "-w", "-ffreestanding", "-Wl,-soname," + library,
                    "-Wl,--version-script=" + script, "-x", "c", "-", "-o", path], input=source, text=True, check=True)
    os.remove(script)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    print("\n".join(write(sys.argv[1], sys.argv[2:])[0]))
