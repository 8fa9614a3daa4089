"""The report of the notebook's last kernel: shown once, whatever an agent sends."""

import json
import os
import re
from unittest import mock

from ipytracer import _death

from . import fake
from .shells import ShellTest

SAYS = "the last kernel of this notebook was killed at 12.00 GiB of 12.00 GiB, in In[7], line 3, which took 9.10 GiB"


def packet(says):
    return json.dumps({"death": {"says": says, "report": {"format": "ipytracer/death/v1"}}}).encode()


class Agent(fake.Tracer):
    """Beside the tracer, if it greets: an agent that has a packet for the notebook's kernel, in bytes."""

    death = None

    def marked(self, text):
        super().marked(text)
        last = re.fullmatch(r"line (\d+) last \d+", text)
        if last and self.death is not None:
            with self.make(int(last.group(1))) as end:
                end.send(self.death)
            self.death = None


class Killed(ShellTest):
    """A kernel beside an agent, and no tracer."""

    def setUp(self):
        super().setUp()
        self.agent = Agent(greets=False).__enter__()
        self.addCleanup(self.agent.__exit__)
        always = mock.patch.object(_death, "_EVERY", 0)
        always.start()
        self.addCleanup(always.stop)

    def told(self, cells=3, load=False):
        """Run cells, and return their displays but those that no tracer listens. load: the first one loads the
        extension."""
        shown = self.load() if load else []
        shown += [s for _ in range(cells) for s in self.run_cell("x = 1")]
        return [s for s in shown if not s.startswith("ipytracer: no tracer")]

    def offers(self):
        return [m for m in self.agent.markers if " last " in m]

    def descriptors(self):
        return len(os.listdir("/proc/self/fd"))

    def test_once(self):
        self.agent.death = packet(SAYS)
        self.assertEqual(self.told(load=True), ["ipytracer: " + SAYS])
        self.agent.death = packet(SAYS)
        self.assertEqual((self.told(), len(self.offers())), ([], 1))

    def test_an_agent_that_comes_later(self):
        self.load()
        self.assertEqual(self.told(), [])
        self.agent.death = packet(SAYS)
        self.assertEqual(self.told(), ["ipytracer: " + SAYS])

    def test_beside_a_tracer(self):
        self.agent.greets = True
        self.agent.death = packet(SAYS)
        shown = self.load()
        self.agent.settle()
        shown += self.told()
        self.assertEqual(shown.count("ipytracer: " + SAYS), 1)
        self.assertEqual(len([s for s in shown if s.startswith("In[")]), 3)

    def test_without_an_agent(self):
        """The pair is offered some times, and then given up."""
        self.load()
        before = self.descriptors()
        self.told(110)
        self.assertEqual(len(self.offers()), 99)
        self.assertEqual(self.descriptors(), before - 2)

    def test_seldom(self):
        with mock.patch.object(_death, "_EVERY", 3600):
            self.load()
            self.told(5)
        self.assertEqual(len(self.offers()), 1)

    def test_off(self):
        with mock.patch.dict(os.environ, {_death.VARIABLE: "off"}):
            self.agent.death = packet(SAYS)
            self.assertEqual((self.told(load=True), self.offers()), ([], []))

    def test_nasty_sentences(self):
        self.agent.death = packet("\x1b[2J\n\u202e" + "x" * 10_000)
        shown, = self.told(load=True)
        self.assertLess(len(shown), 700)
        self.assertTrue(shown.startswith("ipytracer: \\x1b[2J\\n\\u202exxx"), shown)

    def test_nonsense(self):
        """Whatever comes instead of a report, nothing is shown, and the cells run."""
        for nonsense in (b"{", b"[]", b"{}", b'{"death": null}', b'{"death": {"says": 7}}', b'{"death": {"says": ""}}',
                         b"[" * 60_000, b"\xff" * 100, packet("x" * 65_500), b" " * 70_000):
            with self.subTest(nonsense[:30]):
                self.agent.death = nonsense
                self.assertEqual(self.told(load=True), [])
                self.shell.run_line_magic("unload_ext", "ipytracer")

    def test_a_forked_child(self):
        """It offers nothing, and closes nothing of its parent's."""
        self.load()
        self.agent.death = packet(SAYS)
        before = len(self.offers())
        death = self.shell._ipytracer_companion.death
        with mock.patch.object(_death.os, "getpid", lambda: 1):
            death.offer()
            self.assertEqual(death.said(), "")
            death.close()
        self.assertEqual(len(self.offers()), before)
        self.assertIsNotNone(death._ours)
