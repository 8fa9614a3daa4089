"""Builds the stand-in libraries and the player, in the places where an installation has the real ones, and knows their
functions.

    DIRECTORY/driver/libcuda.so.1 -> libcuda.so.580.159.04     as a driver package installs it
    DIRECTORY/site/nvidia/cu13/lib/libcudart.so.13             as the wheels install it
    DIRECTORY/site/torch/lib/libc10.so
    DIRECTORY/libplayer.so

    python3 libraries.py DIRECTORY      builds them
"""

import ctypes
import os
import re
import subprocess
import sys
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))

# list in functions.h: path that is loaded, file behind it (else itself). The names are those in the recordings.
LIBRARIES = {
    "CUDA": ("driver/libcuda.so.1", "driver/libcuda.so.580.159.04"),
    "CUDART": ("site/nvidia/cu13/lib/libcudart.so.13", None),
    "C10": ("site/torch/lib/libc10.so", None),
}
PLAYER = "libplayer.so"

# No endbr64 and no tail call: each function begins with push rbp and has its own frame, which unwinders and probes can
# rely on.
_FLAGS = [
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-shared",
    "-fPIC",
    "-fno-omit-frame-pointer",
    "-fno-optimize-sibling-calls",
    "-fcf-protection=none",
    "-fno-stack-protector",
    "-fno-ipa-icf",
    "-fno-shrink-wrap",
    "-fno-schedule-insns2",
    "-Wl,-Bsymbolic",
]

Function = namedtuple("Function", "id name library out")


def table():
    """Function by name, read from functions.h."""
    with open(os.path.join(HERE, "functions.h")) as f:
        text = f.read()
    found = {}
    for library in LIBRARIES:
        body = re.search(r"#define %s_FUNCTIONS\(F\)((?:.*\\\n)*.*)" % library, text).group(1)
        for name, out in re.findall(r"F\((\w+), ([01])\)", body):
            found[name] = Function(len(found), name, library, out == "1")
    return found


def build(directory):
    """Compiles everything into `directory`. Needs gcc (or $CC)."""
    def compile(source, path, *more):
        target = os.path.join(directory, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        subprocess.check_call(
            [os.environ.get("CC", "gcc")] + _FLAGS + list(more) + ["-o", target, os.path.join(HERE, source)]
        )

    for library, (path, file) in LIBRARIES.items():
        soname = os.path.basename(path)
        compile("library.c", file or path, "-DFUNCTIONS=%s_FUNCTIONS" % library, "-Wl,-soname," + soname)
        if file and not os.path.lexists(os.path.join(directory, path)):
            os.symlink(os.path.basename(file), os.path.join(directory, path))
    compile("player.c", PLAYER, "-pthread")
    return directory


def load(directory):
    """Returns (player, {function name: address}): all loaded, each function registered with the player."""
    player = ctypes.CDLL(os.path.join(directory, PLAYER))
    player.replay_enter.restype = ctypes.c_uint64
    player.replay_play.restype = ctypes.c_char_p
    player.replay_play.argtypes = [ctypes.c_size_t]
    player.replay_load.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    player.replay_log.restype = ctypes.c_void_p
    player.replay_event_size.restype = ctypes.c_size_t
    player.replay_function.argtypes = [ctypes.c_uint, ctypes.c_void_p]
    handles = {name: ctypes.CDLL(os.path.join(directory, path)) for name, (path, _) in LIBRARIES.items()}
    for handle in handles.values():
        handle.replay_connect.argtypes = [ctypes.c_void_p]
        handle.replay_connect(ctypes.cast(player.replay_enter, ctypes.c_void_p))
    addresses = {}
    for function in table().values():
        address = ctypes.cast(getattr(handles[function.library], function.name), ctypes.c_void_p).value
        player.replay_function(function.id, address)
        addresses[function.name] = address
    return player, addresses


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(build(sys.argv[1]))
