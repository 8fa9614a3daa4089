"""A program that does nothing, behind a tracepoint of the kernel: the price that no tracer can go below."""

import ctypes
import os
import struct

from tracing import Failure

_CALL = {"x86_64": 321, "aarch64": 280}    # bpf(2)
_PROG_LOAD, _RAW_TRACEPOINT_OPEN = 5, 17    # its commands (include/uapi/linux/bpf.h)
_RAW_TRACEPOINT = 17    # the type of program
_RETURN_0 = struct.pack("<BBhiBBhi", 0xB7, 0, 0, 0, 0x95, 0, 0, 0)    # r0 = 0; exit


def _bpf(command, attributes):
    room = ctypes.create_string_buffer(attributes, 128)
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(ctypes.c_long(_CALL[os.uname().machine]), ctypes.c_long(command), room, ctypes.c_long(len(room)))
    if fd < 0:
        raise Failure(f"bpf({command}): {os.strerror(ctypes.get_errno())}")
    return fd


class EmptyProgram:
    """The program at a raw tracepoint, of all processes. Use it with `with`."""

    def __init__(self, tracepoint):
        self._name = ctypes.create_string_buffer(tracepoint.encode())
        self._fds = []

    def __enter__(self):
        code, licence = ctypes.create_string_buffer(_RETURN_0, len(_RETURN_0)), ctypes.create_string_buffer(b"GPL")
        self._fds.append(_bpf(_PROG_LOAD, struct.pack("<IIQQ", _RAW_TRACEPOINT, len(_RETURN_0) // 8,
                                                      ctypes.addressof(code), ctypes.addressof(licence))))
        self._fds.append(_bpf(_RAW_TRACEPOINT_OPEN, struct.pack("<QI", ctypes.addressof(self._name), self._fds[0])))
        return self

    def __exit__(self, *_):
        for fd in reversed(self._fds):
            os.close(fd)
        self._fds.clear()
