"""kernels_judge.py on the output of a serial console: a missing result is not right."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels_judge.py")
RUN = (
    '{"schema": "ipytracer/selftest/v1", "workloads": [{"figures": [{"difference": 0, "bound": 0}]}], "cells": []}\n'
    '== selftest 0\n'
)
STORM = (
    '{"storm": "exits", "failures": [], "processes": 3, "ended_twice": 0, "boundaries": 5, "boundaries_missing": 0, '
    '"figures": 8, "equal": 8, "wrong": 0}\n'
)
ANSWERS = dict(read_small=0, read_large=0, write=4096, advised=4096, behind=0, freed=65536, collapsed=0)
END = "== seconds 99\n"


class Judge(unittest.TestCase):
    def judge(self, log, checks, *wanted, version="6.18", answers=ANSWERS):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write("== release 6.18.1\n== machine %s\n" % json.dumps(answers) + log)
            f.flush()
            done = subprocess.run(
                [sys.executable, SCRIPT, version, f.name, checks, *wanted], capture_output=True, text=True, check=False
            )
        return done.returncode, done.stdout + done.stderr

    def test_selftests(self):
        for log, wanted, status, shown in (
            (RUN + END, (), 0, "| ok | 1 of 1 equal |"),
            (RUN * 4 + END, ("4",), 0, "| ok | 4 of 4 runs right: 4 of 4 equal |"),
            (RUN * 4 + END, ("20",), 1, "| FAILED | 4 of 20 runs right: 4 of 4 equal |"),
            (RUN * 4, ("20",), 1, "4 of 20 runs ended"),
            (RUN * 4, ("4",), 1, "the boot did not come to its end"),
            (RUN + RUN.replace("selftest 0", "selftest 1 it is wrong") + END, ("2",), 1, "1 of 2 runs right"),
            (END, (), 1, "it did not end"),
        ):
            self.assertEqual(self.judge(log, "selftest", *wanted)[0], status, (log, wanted))
            self.assertIn(shown, self.judge(log, "selftest", *wanted)[1])

    def test_habits(self):
        """A kernel that did not take its setting proves nothing."""
        for setting, answers in (
            ("zero", {"read_small": 65536, "read_large": 4 << 20}),
            ("huge", {"read_large": 4 << 20, "write": 2 << 20}),
            ("small", {}),
            ("sizes", {"write": 65536}),
            ("collapse", {"collapsed": 2 << 20}),
            ("reclaim", {"freed": 0}),
        ):
            log, version = RUN + END, "6.18:" + setting
            status, shown = self.judge(log, "selftest", version=version, answers=dict(ANSWERS, **answers))
            self.assertEqual(status, 0, shown)
            self.assertIn("| 6.18.1, %s | ok |" % setting, shown)
            usual = dict(ANSWERS, advised=2 << 20)
            self.assertEqual(self.judge(log, "selftest", version=version, answers=usual)[0], 1, setting)

    def test_clock(self):
        run = RUN.replace("== selftest", "== clock")
        for log, status, shown in (
            (run + "== jumped 2096\n" + END, 0, "| ok | 1 of 1 equal |"),
            (run + "== jumped 2026\n" + END, 1, "it did not jump: 2026"),
            (run + END, 1, "it did not jump"),
            ("== jumped 2001\n" + END, 1, "clock: it did not end"),
        ):
            self.assertEqual(self.judge(log, "clock")[0], status, log)
            self.assertIn(shown, self.judge(log, "clock")[1])

    def test_storms(self):
        for log, status, shown in (
            (
                STORM + "== storms 0\n" + END,
                0,
                "3 processes, 0 ended twice, 0 of 5 boundaries missing, 8 of 8 figures equal",
            ),
            (STORM + "== storms 1\n" + END, 1, "storms: status 1"),
            ("== storms 0\n" + END, 1, "no storm ran"),
            (END, 1, "they did not end"),
        ):
            self.assertEqual(self.judge(log, "storms")[0], status, log)
            self.assertIn(shown, self.judge(log, "storms")[1])


if __name__ == "__main__":
    unittest.main()
