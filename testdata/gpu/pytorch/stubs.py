"""All libraries of NVIDIA's that a PyTorch for CUDA is linked against, as stand-ins: the driver and the runtime of this
folder's parent, and libraries of mathematics with hundreds of functions that do nothing and return 0, success. Their
names are read from the libraries that need them, so another build of PyTorch works as well.

    python3 stubs.py DIRECTORY ROOT      for the PyTorch in the file system below ROOT
"""

import glob
import os
import re
import subprocess
import sys

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from build import build

# Prefixes of the names of libraries without versions of their symbols.
_BY_PREFIX = {"nccl": "libnccl.so.2"}
# The CUDA runtime has a stand-in with code.
_RUNTIME = "libcudart.so.12"
# Where 0 alone would be an error: the number of algorithms for a product of matrices.
_MORE = {
    "cublasLtMatmulAlgoGetHeuristic": "int %s(void *a, void *b, void *c, void *d, void *e, void *f, void *g, int h, "
                                      "void *i, int *found) { *found = 1; return 0; }\n",
}
_LIBRARY = re.compile(r"^lib(?:cu(?!da\.)\w+|nv\w+|nccl)\.so\.\d+$")


_LINKED = ["libtorch_cuda.so*", "libtorch_cuda_linalg.so*", "libtorch_python.so*", "libc10_cuda.so*",
           "libgloo_cuda.so*", "libtensorpipe_cuda.so*"]


def make(directory, root):
    """Everything, in `directory`, which must exist. PyTorch brings its own libc10. Raises FileNotFoundError where there
    is no PyTorch."""
    build(directory)
    for path in glob.glob(os.path.join(directory, "libc10*")):
        os.remove(path)
    found = [path for base in ("usr/lib", "usr/lib/%s-linux-gnu" % os.uname().machine) for pattern in _LINKED
             for path in glob.glob(os.path.join(root, base, pattern)) if not os.path.islink(path)]
    if not found:
        raise FileNotFoundError("%s has no PyTorch for CUDA" % root)
    for library, names in wanted(found).items():
        if library != _RUNTIME:
            _compile(os.path.join(directory, library), library,
                     "".join(_MORE.get(n, "long %s(void) { return 0; }\n") % n for n in sorted(names)))


def wanted(paths):
    """Returns {library: {symbol}} that the files need of NVIDIA's libraries; one that several define is in each."""
    found, needed = {}, set()
    for path in paths:
        dynamic = subprocess.run(["readelf", "-W", "-d", path], stdout=subprocess.PIPE, check=True, text=True).stdout
        needed.update(name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) if _LIBRARY.match(name))
        symbols = subprocess.run(["readelf", "-W", "--dyn-syms", path], stdout=subprocess.PIPE, check=True,
                                 text=True).stdout
        for line in symbols.splitlines():
            fields = line.split()
            if len(fields) < 8 or fields[6] != "UND":
                continue
            name, _, version = fields[7].partition("@")
            library = version.lstrip("@") or next((lib for prefix,
                                                   lib in _BY_PREFIX.items() if name.startswith(prefix)), "")
            if _LIBRARY.match(library):
                found.setdefault(library, set()).add(name)
    for library in needed:
        found.setdefault(library, set())
    return found


def _compile(path, library, source):
    script = path + ".map"
    with open(script, "w") as f:
        f.write("%s { global: *; };\n" % library)
    # -ffreestanding: some names are known to the compiler, with other types
    subprocess.run([os.environ.get("CC", "gcc"), "-shared", "-fPIC", "-O1", "-w", "-ffreestanding",
                    "-Wl,-soname," + library,
                    "-Wl,--version-script=" + script, "-x", "c", "-", "-o", path], input=source, text=True, check=True)
    os.remove(script)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.makedirs(sys.argv[1], exist_ok=True)
    make(sys.argv[1], sys.argv[2])
    print("\n".join(sorted(os.listdir(sys.argv[1]))))
