"""How much memory this process can still take: below its rlimits, below the limits of its control groups, and of the
machine's. It needs no tracer."""

from __future__ import annotations

import os
import re
import resource

from ._named import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_FILE = 64 << 10     # bytes of a file of the kernel's
_MOST_DEPTH = 64          # control groups, each within the next
_NONE = 1 << 60           # bytes: version 1 writes a number like this for no limit
_NUMBER = re.compile(rb"\d{1,19}")


class Room(NamedTuple):
    """Memory that is free: the meter that it is counted by, its bytes, and the limit that leaves the least: "machine",
    "container", "rlimit"; limit: that limit in bytes, None where it is not known."""

    meter: str
    free: int
    of: str
    limit: int | None = None


def rooms(root: str = "/") -> list[Room]:
    """Return the least room by the meters cpu.resident and cpu.mapped, as far as they are limited and can be read.
    root: the folder that has proc and sys."""
    status = read(os.path.join(root, "proc/self/status"))
    found: dict[str, Room] = {}
    for room in (*_machine(root), *_groups(root), *_rlimits(status)):
        if room.meter not in found or room.free < found[room.meter].free:
            found[room.meter] = room
    return list(found.values())


def read(path: str) -> bytes:
    """Return what a file of the kernel's has, b"" where it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as f:
            return f.read(_MOST_FILE) or b""
    except OSError:
        return b""


def kib(text: bytes, name: bytes) -> int | None:
    """Return a row of /proc/meminfo or /proc/PID/status, in bytes."""
    found = re.search(rb"^%s:\s+(\d{1,16}) kB$" % name, text, re.MULTILINE)
    return int(found.group(1)) << 10 if found else None


def _machine(root: str) -> Iterator[Room]:
    text = read(os.path.join(root, "proc/meminfo"))
    free = kib(text, b"MemAvailable")
    if free is not None:
        yield Room("cpu.resident", free, "machine", kib(text, b"MemTotal"))


def _rlimits(status: bytes) -> Iterator[Room]:
    for limit, row in ((resource.RLIMIT_DATA, b"VmData"), (resource.RLIMIT_AS, b"VmSize")):
        soft, _ = resource.getrlimit(limit)
        used = kib(status, row)
        if soft != resource.RLIM_INFINITY and used is not None:
            yield Room("cpu.mapped", max(soft - used, 0), "rlimit", soft)


def _groups(root: str) -> Iterator[Room]:
    """Yield the room in this process's control group and in those around it, of both versions."""
    for line in read(os.path.join(root, "proc/self/cgroup")).decode("utf-8", "replace").split("\n"):
        parts = line.split(":", 2)
        if len(parts) != 3 or ".." in parts[2].split("/"):
            continue
        if parts[:2] == ["0", ""]:
            mounts, names = ["sys/fs/cgroup", "sys/fs/cgroup/unified"], _SECOND
        elif "memory" in parts[1].split(","):
            mounts, names = ["sys/fs/cgroup/memory"], _FIRST
        else:
            continue
        for mount in mounts:
            yield from _hierarchy(os.path.join(root, mount), parts[2].strip("/"), names)


_Names = tuple[tuple[str, ...], str, bytes]     # of the files with limits, of the usage, of the row of page cache
_FIRST: _Names = (("memory.limit_in_bytes",), "memory.usage_in_bytes", b"total_inactive_file")
_SECOND: _Names = (("memory.max", "memory.high"), "memory.current", b"inactive_file")


def _hierarchy(mount: str, path: str, names: _Names) -> Iterator[Room]:
    limits, usage, cache = names
    steps = path.split("/")[:_MOST_DEPTH] if path else []
    for depth in range(len(steps), -1, -1):
        folder = os.path.join(mount, *steps[:depth])
        lowest = min((n for n in (_number(read(os.path.join(folder, name))) for name in limits) if n < _NONE),
                     default=None)
        used = _number(read(os.path.join(folder, usage)))
        if lowest is None or used >= _NONE:
            continue
        row = re.search(rb"^%s (\d{1,19})$" % cache, read(os.path.join(folder, "memory.stat")), re.MULTILINE)
        kept = used - min(int(row.group(1)) if row else 0, used)
        yield Room("cpu.resident", max(lowest - kept, 0), "container", lowest)


def _number(text: bytes) -> int:
    found = _NUMBER.fullmatch(text.strip())
    return int(found.group()) if found else _NONE
