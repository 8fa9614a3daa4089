#!/usr/bin/env python3
"""Cuts the machine code that package numpy reads out of a NumPy extension module, so that a test can have it.

    extract.py MODULE.so FIRST END OUT.bz2

The result is the same ELF file, with zeros where nothing looks. Of the code only the functions from FIRST to END are
left: those of alloc.c, which the compiler puts together. Beside them the file keeps their unwind information, the
linkage table, the imported names, the relocations and strings of these functions, and the default memory handler. It
loads in a Python process: it needs no BLAS and runs no constructors.
"""

import bz2
import struct
import sys

HANDLER = b"default_allocator".ljust(127, b"\0")
RELATIVE, GLOB_DAT, JUMP_SLOT = 8, 6, 7
NEEDED, INIT, FINI, INIT_SIZE, FINI_SIZE, RPATH, DEBUG = 1, 12, 13, 27, 28, 15, 21
WHOLE = {".dynsym", ".dynstr", ".gnu.version", ".gnu.version_r", ".gnu.hash", ".plt", ".rela.plt", ".got", ".got.plt",
         ".dynamic", ".shstrtab", ".note.gnu.build-id", ".comment"}


class Module:
    """An ELF file for x86-64 with section headers."""

    def __init__(self, data):
        self.data = data
        self.out = bytearray(len(data))
        self.shoff, = struct.unpack_from("<Q", data, 40)
        entry, count, names = struct.unpack_from("<HHH", data, 58)
        raw = [struct.unpack_from("<IIQQQQIIQQ", data, self.shoff + i * entry) for i in range(count)]
        strings = raw[names][4]
        self.sections = {data[strings + s[0]:data.index(b"\0", strings + s[0])].decode(): s for s in raw}
        self.keep(0, 64 + 56 * struct.unpack_from("<H", data, 56)[0])
        self.keep(self.shoff, entry * count)

    def keep(self, offset, size):
        self.out[offset:offset + size] = self.data[offset:offset + size]

    def offset(self, address):
        for s in self.sections.values():
            if s[1] != 8 and s[3] and s[3] <= address < s[3] + s[5]:
                return s[4] + address - s[3]
        raise SystemExit(f"nothing at {address:#x}")

    def keep_at(self, address, size):
        self.keep(self.offset(address), size)


def references(m, first, end):
    """Addresses outside the code that these functions refer to, by a displacement from the instruction's end."""
    code = m.data[m.offset(first):m.offset(first) + end - first]
    for i in range(len(code) - 4):
        to = first + i + 4 + struct.unpack_from("<i", code, i)[0]
        yield to


def relocations(m, wanted):
    """Keeps the relocations that fill in wanted addresses; the others become none (R_X86_64_NONE, at 0)."""
    _, _, _, _, offset, size, *_ = m.sections[".rela.dyn"]
    for at in range(offset, offset + size, 24):
        where, info, _ = struct.unpack_from("<QQq", m.data, at)
        if where in wanted and info & 0xffffffff in (RELATIVE, GLOB_DAT):
            m.keep(at, 24)


def dynamic(m):
    """Lets the file load without BLAS and without its constructors.

    The entries that ask for these become DT_DEBUG, which nobody reads.
    """
    _, _, _, _, offset, size, *_ = m.sections[".dynamic"]
    names = m.sections[".dynstr"][4]
    for at in range(offset, offset + size, 16):
        tag, value = struct.unpack_from("<QQ", m.data, at)
        blas = tag == NEEDED and b"blas" in m.data[names + value:m.data.index(b"\0", names + value)]
        if blas or tag in (INIT, FINI, RPATH):
            struct.pack_into("<QQ", m.out, at, DEBUG, 0)
        elif tag in (INIT_SIZE, FINI_SIZE, 0x6ffffff9):  # DT_RELACOUNT: the relative ones are not together any more
            struct.pack_into("<QQ", m.out, at, tag, 0)


def unwinding(m, first, end):
    """Keeps common entries and those of the functions; those between them become one of no code."""
    _, _, _, address, offset, size, *_ = m.sections[".eh_frame"]
    at, since, kept = offset, None, None
    while at < offset + size:
        length, = struct.unpack_from("<I", m.data, at)
        common = length and struct.unpack_from("<I", m.data, at + 4)[0] == 0
        start = address + at - offset + 8 + struct.unpack_from("<i", m.data, at + 8)[0] if length and not common else 0
        if not length or common or first <= start < end:
            if since is not None:
                struct.pack_into("<II", m.out, since, at - since - 4, since + 4 - kept)
            since = None
            m.keep(at, 4 + length)
            kept = at if common else kept
        elif since is None:
            since = at
        at += 4 + length
        if not length:
            break


def main():
    name, first, end, out = sys.argv[1], int(sys.argv[2], 0), int(sys.argv[3], 0), sys.argv[4]
    with open(name, "rb") as f:
        m = Module(f.read())
    for section, s in m.sections.items():
        if section in WHOLE:
            m.keep(s[4], s[5])
    m.keep_at(first, end - first)
    handler = m.data.index(HANDLER)
    m.keep(handler, 168)
    data = m.sections[".data"]
    handler += data[3] - data[4]
    wanted = set(range(handler, handler + 168, 8))
    rodata, got = m.sections[".rodata"], m.sections[".got"]
    for to in references(m, first, end):
        if rodata[3] <= to < rodata[3] + rodata[5]:
            at = m.offset(to)
            text = m.data[at:m.data.index(b"\0", at) + 1]
            if text[:-1].isascii() and text[:-1].decode().isprintable():
                m.keep(at, len(text))
        elif got[3] <= to < got[3] + got[5]:
            wanted.add(to)
    relocations(m, wanted)
    dynamic(m)
    unwinding(m, first, end)
    with bz2.open(out, "wb") as f:
        f.write(m.out)


main()
