"""%tracer vars, %tracer audit, %tracer live, and their results in Python."""

import unittest
from unittest import mock

import ipytracer
from ipytracer import _api, _found, _magic, _packets, _shell, _show

from . import fake
from .shells import ShellTest

_GIVEN_UP = r"the tracer has not answered for \d.*s: it is stopped, or very busy; ask again in a minute$"


class Looked(ShellTest):
    def setUp(self):
        super().setUp()
        self.tracer = fake.Tracer(limit=None)
        self.addCleanup(self.tracer.__exit__)
        self.tracer.__enter__()
        self.load()
        self.tracer.settle()

    def asked(self, what):
        return [r.get("look") for r in self.tracer.requests if r["ask"] == what]

    def test_vars(self):
        found = ipytracer.vars()
        self.assertEqual(
            [(v.name, v.bytes, v.reaches, v.device, v.shape, v.length, v.line, v.where, v.also) for v in found],
            [("x", 960128, 960128, 0, (300, 400), 300, 1, "In[3] line 1 › ones", ())],
        )
        self.assertEqual(
            (found.unlisted, found.unlisted_bytes, found.complete, found.why, found.took_ns), (3, 5000, True, "", 10**8)
        )
        self.assertEqual(self.asked("vars"), [None, 1, 1])
        ipytracer.vars()
        self.assertEqual(self.asked("vars")[3:], [None, 2, 2])      # a new look, not the earlier result

    def test_views(self):
        """The part of memory that a view uses, and the code to type; there is none for memory that a copy might share,
        or for an invalid name."""
        def view(name, kind="numpy.ndarray", **more):
            return dict(
                {
                    "name": name,
                    "type": kind,
                    "bytes": 480 << 20,
                    "exact": True,
                    "kind": "variable",
                    "shaped": "",
                    "where": "",
                    "stack": [],
                    "view_bytes": 80,
                    "base_bytes": 480 << 20,
                },
                **more,
            )
        def told(*all):
            return _packets.variables(
                {"variables": list(all), "names": {"unlisted": 0, "bytes": 0, "objects": 1, "complete": True}}
            )
        found = told(view("small", also=["same"]), view("text", "memoryview"))
        self.assertEqual((found[0].view_bytes, found[0].base_bytes), (80, 480 << 20))
        table, note = _found.variables(found)
        self.assertEqual(table.rows[0][0], "small = same, a view: 80 B of 480.00 MiB")
        self.assertEqual(note, "to free what only views hold: small = same = small.copy() · text = bytes(text)")
        for odd in (
            view("df", "DataFrame"),
            view("x\x1b[31m"),
            view("x; import os"),
            view("class"),
            dict(view("_3"), kind="output"),
            view("x", also=["Out[3]"]),
            view("x", also=list("abcdefgh")),
            view("x", dtype="object"),
        ):
            table, note = _found.variables(told(odd))
            self.assertEqual(note, "%tracer audit says how to replace the views")
            self.assertNotIn("\x1b", table.rows[0][0])

    def test_audit(self):
        found = ipytracer.audit()
        v = found[0]
        self.assertEqual(
            (v.kind, v.bytes, v.count, v.holder, v.growth.slope, v.change, v.fix),
            ("rerun-growth", 8 << 20, 4, "acc[0]", 2 << 20, (6, 6, 1), "acc.clear()"),
        )
        self.assertEqual(
            (found.complete, found.least, found.cells, found.not_judged[0].bytes), (False, 1 << 20, 7, 50 << 20)
        )

    def test_dataframe(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("no pandas")
        frame = ipytracer.vars().to_dataframe()
        self.assertEqual((list(frame["bytes"]), str(frame["bytes"].dtype)), ([960128], "int64"))
        self.assertEqual(list(ipytracer.audit().to_dataframe()["kind"]), ["rerun-growth"])

    def test_magics(self):
        table = self.run_cell("%tracer vars")[0].split("\n")
        self.assertEqual(table[0].split(), "name alone reaches type shape made by".split())
        self.assertEqual(table[1].split("  ")[0], "x")
        self.assertIn("937.63 KiB", table[1])
        self.assertEqual(table[2], "… and 3 more names, with 4.88 KiB together")
        said = self.run_cell("%tracer audit")[0].split("\n")
        self.assertEqual(said[0], "1 finding: 8.00 MiB of numpy stays behind")
        self.assertEqual(said[2], " 1  grows with each run of the cell   8.00 MiB of numpy")
        self.assertIn("    count   4 blocks, the oldest 4.21 s old", said)
        self.assertIn("    type    acc.clear()", said)
        self.assertEqual(said[-1], "not judged: 50.00 MiB of resident: it was there before; try: attach earlier")

    def test_nothing_stays(self):
        self.tracer.verdicts, self.tracer.audited = (
            [],
            fake.audited(all_clear="Nothing stayed behind.", complete=True, not_judged=[]),
        )
        self.assertEqual(self.run_cell("%tracer audit"), ["Nothing stayed behind."])
        self.assertEqual(ipytracer.audit().all_clear, "Nothing stayed behind.")

    def test_waiting_is_said(self):
        """The wait is shown once in a terminal; in a notebook the result replaces it."""
        self.tracer.looked = 6
        with mock.patch.object(_magic, "_SHOWN_AFTER", 0.0):
            shown = self.run_cell("%tracer vars")
            self.assertEqual([s.split("\n")[0].split("  ")[0] for s in shown], ["ipytracer: … looking", "name"])
            with mock.patch.object(self.shell, "kernel", object(), create=True):
                before = len(self.published.outputs)
                with mock.patch.object(_show, "publish") as published:
                    self.assertIsNone(_magic.tracer(_shell.of(self.shell), "vars"))
            self.assertEqual(len(self.published.outputs), before)
        said = [(c.args[1]["text/plain"].split(" (")[0], c.args[2], c.args[3]) for c in published.call_args_list]
        self.assertEqual((said[0][0], said[0][2]), ("ipytracer: … looking", False))
        self.assertTrue(said[-1][0].startswith("name") and said[-1][2])
        self.assertEqual(len({display for _, display, _ in said}), 1)

    def test_interrupted(self):
        self.tracer.looked = 10**6
        with mock.patch.object(_api.time, "sleep", side_effect=KeyboardInterrupt):
            self.assertRaises(KeyboardInterrupt, ipytracer.audit)
        self.tracer.looked = self.tracer.left = 0
        self.assertEqual(len(ipytracer.audit()), 1)

    def test_not_for_ever(self):
        self.tracer.looked = 10**6
        found = ipytracer.audit(wait=0.2)
        self.assertEqual((len(found), found.why[:23]), (0, "the tracer still looks "))

    def test_no_answer(self):
        """The tracer is stopped, or killed, also during the wait."""
        self.patience(0.05)
        self.tracer.answers = False
        with mock.patch.object(_api, "SILENT_FOR", 0.3):
            found = ipytracer.vars()
            self.assertEqual(list(found), [])
            self.assertRegex(found.why, _GIVEN_UP)
            self.assertRegex(self.run_cell("%tracer audit")[-1], "ipytracer: " + _GIVEN_UP)
        self.assertEqual([len(self.asked(what)) for what in ("vars", "audit")], [1, 1])     # each is asked once
        self.tracer.greets = False
        self.tracer.kill()
        self.assertIn(ipytracer.audit().why, ("the tracer has ended", "no tracer listens"))
        self.assertIn("in a terminal, type", self.run_cell("%tracer vars")[-1])

    def test_late_answers(self):
        """A tracer with much to do, which gives no answer in time, is waited for, and asked nothing twice."""
        self.patience(0.03)
        self.tracer.delay, said = 0.3, []
        found = _api.look("vars", 60, lambda _, wait: said.append(wait))
        self.assertEqual(([v.name for v in found], self.asked("vars")), (["x"], [None, 1, 1]))
        self.assertEqual(set(said), {None, 0})
        with mock.patch.object(_magic, "_SHOWN_AFTER", 0.0):
            shown = self.run_cell("%tracer vars")
        self.assertEqual([s.split("\n")[0].split("  ")[0] for s in shown],
                         ["ipytracer: … the tracer is busy and answers late", "name"])

    def test_advise(self):
        self.assertEqual(self.run_cell("%tracer advise")[-1], self.tracer.advice.rstrip())
        self.assertEqual(self.asked("advise"), [None, 1, 1])
        self.tracer.advice = "a\x1b[31m line\nanother\u202e"
        self.assertEqual(self.run_cell("%tracer advise")[-1], "a\\x1b[31m line\nanother\\u202e")
        self.tracer.advice = ""
        self.assertEqual(self.run_cell("%tracer advise"), ["ipytracer: there is no advice"])

    def test_killed_meanwhile(self):
        self.tracer.looked = 10**6
        with mock.patch.object(_api.time, "sleep", side_effect=lambda _: self.tracer.kill()):
            self.assertIn(ipytracer.vars().why, ("the tracer has ended", "no tracer listens"))

    def test_refused(self):
        self.tracer.reply = lambda r: [{"id": r["id"], "error": "too many\x1b ask"}] if r["ask"] == "audit" else None
        self.assertEqual(self.run_cell("%tracer audit"), ["ipytracer: too many\\x1b ask"])
        self.assertEqual(ipytracer.audit().why, "too many\x1b ask")

    def test_hostile_answers(self):
        """Any other answer costs the line, and raises nothing."""
        for wrong in (
            {"looking": True},
            {"looking": True, "look": -1, "wait_ns": 0},
            {"variables": 5},
            {"variables": [{}]},
            {"variables": [[]]},
            {"variables": [fake.variable("x", bytes="1")]},
            {"variables": [fake.variable("x", shape={})]},
            {"names": {"unlisted": -1}},
        ):
            self.tracer.reply = lambda r, wrong=wrong: [dict(wrong, id=r["id"])] if r["ask"] == "vars" else None
            self.assertEqual(list(ipytracer.vars()), [], wrong)
            self.tracer.kill()
            self.tracer.reply = None
            self.run_cell("pass")
            self.tracer.settle()

    def test_without_a_line(self):
        _packets.variables({})
        for wrong in (
            {"audited": 5},
            {"verdicts": [5]},
            {"verdicts": [fake.verdict(change=[])]},
            {"verdicts": [fake.verdict(growth=5)]},
            {"verdicts": [fake.verdict(meter="../x")]},
            {"audited": fake.audited(not_judged=[5])},
        ):
            self.assertRaises((ValueError, KeyError, TypeError), _packets.audit, wrong)

    def test_live(self):
        companion = _shell.of(self.shell)
        self.run_cell("%tracer live 10")
        self.assertEqual(companion.live.least, 10)
        self.run_cell("%tracer live off")
        self.assertIsNone(companion.live.least)
        self.run_cell("%tracer live on")
        self.assertEqual(companion.live.least, 1)
        for wrong in ("0.5", "nan", "later", "1 2", "1e300"):
            self.run_cell("%tracer live " + wrong)
            self.assertIn("is none of", self.printed)
        self.assertEqual(companion.live.least, 1)
        self.tracer.running = [fake.window(9, status="incomplete", execution_count=9)]
        self.assertTrue(self.run_cell("%tracer live")[0].startswith("In[9]  runs 1.47 s · resident"))
        self.tracer.running = []
        self.assertEqual(self.run_cell("%tracer live")[0], "ipytracer: the tracer knows of no cell that runs")


class Words(unittest.TestCase):
    def read(self, **more):
        return _packets.variables(dict({"variables": [fake.variable("x", **more)]}))

    def test_marks(self):
        for more, want in (
            ({"bytes": 0}, "shared"),
            ({"bytes": 0, "reaches": 0}, "0 B"),
            ({"exact": False}, "≥ 937.63 KiB"),
            ({}, "937.63 KiB"),
        ):
            self.assertEqual(_found.alone(self.read(**more)[0]), want)
        self.assertEqual(_found.made(self.read(where="", before=True)[0]), "before the attach")
        self.assertEqual(_found.name(self.read(also=["y", "Out[3]", "z"])[0]), "x = y, Out[3], …")
        table, note = _found.variables(self.read(device=5 << 20))
        self.assertIn("5.00 MiB", table.rows[0])
        self.assertIn("GPU", table.head)
        self.assertIn("no time to look at all objects", note)

    def test_safe(self):
        """Names under a program's control are visible, in text and in HTML."""
        bad = "<script>\x1b[31m\u202e&\n"
        found = _packets.variables({"variables": [fake.variable(bad, type=bad, where=bad, shaped=bad, also=[bad])]})
        audit = _packets.audit(
            {
                "verdicts": [fake.verdict(title=bad, where=bad, evidence=bad, advice=bad, fix=bad, runs=bad)],
                "audited": fake.audited(not_judged=[{"reason": "x", "meter": "", "bytes": None, "says": bad}]),
            }
        )
        for bundle in (_show.variables(found), _show.audit(audit)):
            self.assertNotIn("<script", bundle["text/html"])
            for said in bundle.values():
                self.assertFalse(set("\x1b\u202e") & set(said))
            self.assertIn("\\x1b", bundle["text/plain"])

    def test_bounded(self):
        found = _packets.variables({"variables": [fake.variable("v%d" % i) for i in range(300)]})
        self.assertEqual(len(_found.variables(found)[0].rows), 21)
        audit = _packets.audit(
            {
                "verdicts": [fake.verdict(fix="x\n" * 1000, evidence="e" * 10**5) for _ in range(100)],
                "audited": fake.audited(
                    not_judged=[{"reason": "x", "meter": "", "bytes": 1, "says": "s" * 10**5}] * 50
                ),
            }
        )
        self.assertLess(len(_show.audit(audit)["text/plain"]), 60_000)
        self.assertIn("80 more verdicts", _show.audit(audit)["text/plain"])

    def test_no_verdict_of_none(self):
        """Without an audit no text gives an all-clear."""
        none = _packets.audit({"why": "its objects could not be looked at"})
        self.assertEqual(_show.audit(none)["text/plain"], "ipytracer: its objects could not be looked at")
        self.assertFalse(none.complete)
