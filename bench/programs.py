"""The kernel's counts of BPF programs: runs and time of each. bpf(2), include/uapi/linux/bpf.h."""

import collections
import contextlib
import ctypes
import os
import re
import struct

from tracing import Failure

SYSCALL, GET_FD_BY_ID, GET_INFO_BY_FD, ENABLE_STATS = 321, 13, 15, 32    # x86-64; enum bpf_cmd
RUN_TIME = 0                                                             # enum bpf_stats_type
# struct bpf_prog_info, up to run_time_ns and run_cnt
INFO_BYTES, NAME_AT, TIME_AT = 216, 64, 192

_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command, attributes):
    got = _libc.syscall(SYSCALL, command, ctypes.byref(attributes), ctypes.sizeof(attributes))
    if got < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return got


@contextlib.contextmanager
def counting():
    """Has the kernel measure the time of every program, while it is entered. That costs some ten nanoseconds a run."""
    try:
        fd = _bpf(ENABLE_STATS, ctypes.create_string_buffer(struct.pack("I", RUN_TIME), 8))
    except OSError as e:
        raise Failure(f"the kernel does not count what BPF programs take: {e}") from None
    try:
        yield
    finally:
        os.close(fd)


def decoded(info):
    """(name, runs, nanoseconds) of a struct bpf_prog_info."""
    nanoseconds, runs = struct.unpack_from("QQ", info, TIME_AT)
    return info[NAME_AT:NAME_AT + 16].split(b"\0")[0].decode(), runs, nanoseconds


def owned(pid):
    """Returns the ids of a process's open programs, by its descriptors in /proc."""
    ids = set()
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{name}") as f:
                ids.update(map(int, re.findall(r"^prog_id:\s+(\d+)$", f.read(), re.M)))
        except OSError:    # closed meanwhile
            pass
    return ids


def ran(pid):
    """Returns a Counter of a process's programs so far: (name, "runs") and (name, "ns")."""
    found = collections.Counter()
    for number in owned(pid):
        try:
            fd = _bpf(GET_FD_BY_ID, ctypes.create_string_buffer(struct.pack("IIII", number, 0, 0, 0), 16))
        except OSError:    # gone meanwhile
            continue
        try:
            info = ctypes.create_string_buffer(INFO_BYTES)
            asked = struct.pack("IIQ", fd, INFO_BYTES, ctypes.addressof(info))
            _bpf(GET_INFO_BY_FD, ctypes.create_string_buffer(asked, 16))
        finally:
            os.close(fd)
        name, runs, nanoseconds = decoded(info.raw)
        found[name, "runs"] += runs
        found[name, "ns"] += nanoseconds
    return found
