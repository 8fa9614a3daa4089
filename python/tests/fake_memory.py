"""A tracer for tests with windows that follow memory under the tests' control: each window has its start, peak and
end."""

import sys

from . import fake, shells
from .shells import ShellTest

MIB = fake.MIB


def _depth():
    """Return the number of cells that run in this thread."""
    frame, depth = sys._getframe(), 0
    while frame is not None:
        depth += frame.f_code.co_name == "_run_cell"
        frame = frame.f_back
    return depth


class Tracer(fake.Tracer):
    """A tracer with memory that take() changes. Cells are open from their compilation to the marker "cell"."""

    def __init__(self, **more):
        super().__init__(**more)
        self.peaks = {}           # id of an open window: {meter: bytes}
        self.cell = None          # the open cell: its id, its file name and the memory at its begin
        self.within = []          # the same of the running cells within it
        self.inexact = {}         # meter: bound, of meters that are not exact
        self.counted = {}         # "counters" of cells, if they are counted

    def take(self, n, meter="cpu.resident"):
        """Add n bytes, or remove them if n is negative."""
        self.memory[meter] = self.memory.get(meter, 0) + n
        for peaks in self.peaks.values():
            peaks[meter] = max(peaks.get(meter, 0), self.memory[meter])

    def compiled(self, name):
        if self.cell is not None and self.cell[1] != name and _depth() == 1:
            self.peaks.pop(self.cell[0], None)      # it has ended without a marker: the prompt was back
            self.cell = None
        if self.cell is None:
            number = self._number()
            self.cell = number, name, dict(self.memory)
            self.peaks[number] = dict(self.memory)
        elif len(self.within) < _depth() - 1:
            number = self._number()
            self.within.append((number, name, dict(self.memory)))
            self.peaks[number] = dict(self.memory)

    def has_result(self, result=None):
        """Take in a result: a cell within another one ends with it; later hooks belong to the outer cell."""
        if self.within and _depth() == len(self.within):      # the hooks run when it has returned
            one, whole = self.within.pop(), self.cell
            self.cell = one
            self.windows.append(dict(self._cell("ok"), parent=whole[0], execution=0))
            self.cell = whole

    def marked(self, text):
        super().marked(text)
        if text.startswith("begin "):
            self.peaks[self.open[-1]["id"]] = dict(self.memory)

    def _close_cell(self):
        if self.cell is not None:
            self.windows.append(self._cell("ok"))
            self.cell = None

    def _cell(self, status):
        number, _, start = self.cell
        count = shells.running() if status == "ok" else 0
        return fake.window(
            number,
            execution_count=count or None,
            execution=count,
            meters=self._meters(number, start),
            top={},
            status=status,
            **self.counted,
        )

    def _meters(self, number, start):
        peaks = self.peaks.get(number, {})
        return {
            m: fake.figure(
                start.get(m, 0),
                max(peaks.get(m, 0), start.get(m, 0), n),
                n,
                m not in self.inexact,
                self.inexact.get(m, 0),
            )
            for m, n in self.memory.items()
        }

    def _experiment(self, one, status):
        return fake.window(
            one["id"],
            "experiment",
            name=one["name"],
            meters=self._meters(one["id"], one["start"]),
            top={},
            status=status,
        )

    def _usual(self, request):
        if request["ask"] == "running" and self.cell is not None:
            self.running = [self._cell("incomplete")]
        else:
            self.running = []
        return super()._usual(request)


class CompatTest(ShellTest):
    """A shell with cells that can take memory: Block(MiB, meter) holds it for its lifetime. Without a tracer where
    greets is False."""

    greets = True

    def setUp(self):
        super().setUp()
        self.tracer = Tracer(greets=self.greets)
        self.addCleanup(self.tracer.__exit__)
        self.tracer.__enter__()
        self.shell.events.register("post_run_cell", self.tracer.has_result)     # in front of all others
        self.addCleanup(self.unhook)
        take = self.tracer.take

        class Block:
            def __init__(self, mib, meter="cpu.resident"):
                self.mib, self.meter = mib, meter
                take(int(mib * MIB), meter)

            def __del__(self):
                take(-int(self.mib * MIB), self.meter)
        self.Block = self.shell.user_ns["Block"] = Block

    def unhook(self):
        # a test may have reset the shell's hooks
        if self.tracer.has_result in self.shell.events.callbacks["post_run_cell"]:
            self.shell.events.unregister("post_run_cell", self.tracer.has_result)

    def printed_by(self, source):
        """Run a cell. Return the output of the cell and below it."""
        self.run_cell(source)
        self.assertIsNone(self.result.error_in_exec, self.printed)
        self.assertIsNone(self.result.error_before_exec)
        return self.printed
