"""Reads the truth file from outside: the memory of each process. It also cuts peaks. standin/truth.h has the layout."""

import ctypes
import mmap
import os
import struct

MAGIC, VERSION, DEVICES, PROCESSES = b"gputruth", 1, 8, 31
SIZE, HEADER, SLOT = 32 * 512, 512, 512
# pid, state, saved[8], pinned, device[8] of driver, active, reserved: each current and peak
_SLOT = struct.Struct("<iI8q2q48q")


class Truth:
    def __init__(self, path, reader):
        """`reader` is the path of libtruth_reader.so, which takes the stand-ins' lock."""
        self.library = ctypes.CDLL(reader)
        self.library.reader_open.restype = ctypes.c_void_p
        self.library.reader_cut.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        self.file = self.library.reader_open(os.fsencode(path))
        if not self.file:
            raise OSError("truth: cannot open %s" % path)
        with open(path, "rb") as f:
            self.map = mmap.mmap(f.fileno(), SIZE, prot=mmap.PROT_READ)

    def pids(self):
        """Returns the processes that have loaded a stand-in."""
        found = [struct.unpack_from("<i", self.map, HEADER + i * SLOT)[0] for i in range(PROCESSES)]
        return [pid for pid in found if pid]

    def devices(self):
        """Of the machine: index, uuid, pci; none before a process has loaded a stand-in."""
        if self.map[:8] != MAGIC:
            return []
        version, devices = struct.unpack_from("<II", self.map, 8)
        if version != VERSION:
            raise OSError("truth: version %d" % version)
        names = [self.map[256 + 32 * i:288 + 32 * i] for i in range(devices)]
        return [{"index": i, "uuid": name[:16].hex(), "pci": name[16:].rstrip(b"\0").decode()} for i,
                name in enumerate(names)]

    def cut(self, pid):
        """{meter: (current, peak)} of this process since the last cut; from here on peaks begin anew. {}: nothing
        loaded."""
        out = ctypes.create_string_buffer(SLOT)
        if not self.library.reader_cut(self.file, pid, out):
            return {}
        values = _SLOT.unpack_from(out)[10:]
        found = {"cpu.pinned": values[:2]}
        for device in self.devices():
            at = 2 + 6 * device["index"]
            for name, k in (("driver", 0), ("active", 2), ("reserved", 4)):
                found["gpu.%d.%s" % (device["index"], name)] = values[at + k:at + k + 2]
        return found


def segment(before, after):
    """{meter: {start, peak, end}} between two cuts. A process that loaded nothing holds nothing."""
    return {meter: {"start": before.get(meter, (0, 0))[0], "peak": peak, "end": current} for meter,
            (current, peak) in after.items()}
