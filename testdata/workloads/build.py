"""Compiles truth.c, dump.c, machine.c, take.c and together.c into the library that truth.py loads, and ask.c into that
of memory.py.

    python3 build.py DIRECTORY      makes the first one there
"""

import os
import subprocess
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_FLAGS = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-nostdlib", "-fno-stack-protector", "-Wl,-z,now"]
if os.uname().machine == "aarch64":
    _FLAGS.append("-mno-outline-atomics")  # GCC's functions for them are in libgcc, which is not linked


def build(directory):
    """The path of the library, made in `directory`. Needs gcc (or $CC). Not called truth.so: Python would import
    that."""
    library = os.path.join(directory, "libtruth.so")
    sources = [os.path.join(_HERE, name) for name in ("truth.c", "dump.c", "machine.c", "take.c", "together.c")]
    subprocess.check_call([os.environ.get("CC", "gcc")] + _FLAGS + ["-o", library] + sources)
    return library


def build_ask(directory):
    """The path of the library that memory.py loads, made in `directory`."""
    library = os.path.join(directory, "libask.so")
    flags = _FLAGS + ["-fno-builtin", "-Wno-alloc-size-larger-than", "-o", library]
    subprocess.check_call([os.environ.get("CC", "gcc")] + flags + [os.path.join(_HERE, "ask.c")])
    return library


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(build(sys.argv[1]))
