"""Tests of the split of an overhead, and of the kernel's counts of programs. python3 -m unittest discover bench"""

import collections
import os
import struct
import unittest

import programs
from measures import split
from pairing import Series


def counted(**programs_):
    """Counts of programs, by name: (runs, nanoseconds)."""
    found = collections.Counter()
    for name, (runs, nanoseconds) in programs_.items():
        found[name, "runs"], found[name, "ns"] = runs, nanoseconds
    return found


# 10 ns of each run are the counting's own.
WITH = counted(
    numpy_made=(1000, 1_510_000),
    numpy_freed=(1000, 510_000),
    statement_open=(10, 50_100),
    cell_compile=(2, 20_020),
    resident=(100, 9_000),
)
WITHOUT = counted(
    numpy_made=(1000, 910_000),
    numpy_freed=(1000, 510_000),
    statement_open=(10, 50_100),
    cell_compile=(2, 20_020),
    resident=(100, 9_000),
)
EMPTY = counted(calibrate=(2010, 20_100), resident=(100, 9_000))
CPU = {
    "off": 1.0,
    "attached": 1.01,
    "no stacks": 1.008,
    "traps": 1.004,
    "tracepoints": 1.001,
    "counted": 1.02,
    "counted, no stacks": 1.02,
    "counted traps": 1.02,
}


class SplitTest(unittest.TestCase):
    def split(self):
        nothing = collections.Counter()
        ran = {
            name: [{"counted": WITH, "counted, no stacks": WITHOUT, "counted traps": EMPTY}.get(name, nothing)] * 3
            for name in CPU
        }
        return split.split({name: [[value / 4, 3 * value / 4]] * 3 for name, value in CPU.items()}, ran)

    def test_parts(self):
        parts = list(self.split().values())
        for got, want in zip(parts, (0.010, 0.001, 0.003, 0.0014, 0.0006, 0.00007)):
            self.assertAlmostEqual(got, want)

    def test_parts_add_up(self):
        whole, *parts = self.split().values()
        self.assertAlmostEqual(whole, sum(parts))

    def test_undisturbed(self):
        self.assertAlmostEqual(split.undisturbed([[1, 9], [5, 2], [1, 2], [1, 2]]), 3)

    def test_kinds(self):
        for name, want in (
            ("statement_retur", "boundaries"),
            ("cell_signal", "boundaries"),
            ("resident", "tracepoints"),
            ("process_fork", "tracepoints"),
            ("calibrate", "empty"),
            ("calibrate_retur", "empty"),
            ("numpy_made", "uprobes"),
            ("code_freed", "uprobes"),
        ):
            self.assertEqual(split.kind_of(name), want)

    def test_without_an_empty_program_nothing_is_taken_off(self):
        self.assertEqual(split.floor_of([collections.Counter()]), 0)
        self.assertEqual(split.floor_of([EMPTY, EMPTY]), 10)

    def test_less_than_the_floor_is_nothing(self):
        self.assertEqual(split.seconds_of(counted(numpy_made=(10, 50)), "uprobes", 10), 0)

    def test_rows(self):
        series = {"cells": Series(CPU), "programs": Series(CPU)}
        for _ in range(2):
            for name, value in CPU.items():
                series["cells"].add(name, [value])
                series["programs"].add(
                    name,
                    {"counted": WITH, "counted, no stacks": WITHOUT, "counted traps": EMPTY}.get(
                        name, collections.Counter()
                    ),
                )
        rows = list(split.rows("plots", series, 3.0))
        self.assertAlmostEqual(rows[0].found.value, 1.0)
        self.assertIn("2,010 hits", [r.note for r in rows[:-2]])
        self.assertIn("plots", rows[0].section)
        self.assertTrue(rows[-1].text.startswith("numpy_made 1,000 × 1510 ns; numpy_freed"))


class ProgramsTest(unittest.TestCase):
    def test_decoded(self):
        info = bytearray(programs.INFO_BYTES)
        info[64:80] = b"statement_retur\0"
        struct.pack_into("QQ", info, 192, 5000, 7)
        self.assertEqual(programs.decoded(bytes(info)), ("statement_retur", 7, 5000))

    def test_a_process_without_programs(self):
        self.assertEqual(programs.owned(os.getpid()), set())
        self.assertEqual(programs.ran(os.getpid()), collections.Counter())


if __name__ == "__main__":
    unittest.main()
