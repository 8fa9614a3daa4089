"""Types that describe cells: sizes, tolerances with their reasons, proofs, expectations of a meter, a cell."""

import ast
import textwrap

MiB = 1 << 20
PAGE = 4096

# Between the reading and the free another thread of the process (ipykernel's I/O threads) may write pages of its own.
THREADS = 16 * PAGE
# What IPython and CPython take around a statement: frames, code objects, results, display; an arena of objects is 1
# MiB.
PYTHON = [0, 2 * MiB]
# While a helper has given up the GIL another thread may run Python (IPython saves its history in one) and map an arena
# of objects: 256 KiB in CPython 3.9, 1 MiB since 3.10 (Objects/obmalloc.c, ARENA_BITS).
ARENA = MiB
PYTHON_WHY = "CPython and IPython take some for the cell's own code; arenas of objects come in 256 KiB (3.9) or 1 MiB"
# malloc may give back some of its own between the window's start and the peak, so a rise can be short of what a cell
# takes.
HEAP = [-2 * MiB, 2 * MiB]
# A traceback is rendered inside the cell: the first one imports modules and reads sources.
TRACEBACK = 96 * MiB


class Machine:
    """What follows from a machine's answers (machine.h, truth.machine)."""

    HUGE = 2 * MiB

    def __init__(self, answers):
        self.answers = answers

    def read(self, size):
        """[least, most] resident of a fresh mapping of which every page was read and none written."""
        if self.answers["read_small"]:
            return [size, size]
        # Only its huge pages have memory of their own; it need not begin with one.
        return [size - 2 * self.HUGE, size] if self.answers["read_large"] else [0, 0]

    def advised(self, times):
        """[least, most] resident of that many writes, each into another piece of 2 MiB for which huge pages were asked:
        there may be none left."""
        return [times * PAGE, times * self.answers["advised"]]

    def heaps(self, threads):
        """The noise of threads that each have a heap of their own: its pages, which are huge ones where malloc asks for
        such."""
        return [-2 * MiB, 4 * MiB + threads * self.answers["heap"]]

    def freed(self, size):
        """[least, most] resident of pages that were given back lazily: memory may become short."""
        return [0, size if self.answers["freed"] else 0]


def near(size, noise=HEAP):
    return [size + noise[0], size + noise[1]]


def top(label="top", above=THREADS, **more):
    return dict(mark=label, above=above, **more)


def nothing():
    return {"cpu.mapped": {"rise": [0, MiB + 64 * PAGE], "kept": HEAP, "why": PYTHON_WHY},
            "cpu.resident": {"rise": [0, 128 * PAGE], "kept": HEAP, "why": PYTHON_WHY},
            "cpu.numpy": {"rise": [0, 0], "kept": [0, 0]}}


def proof(label, base=None, times=1, child=False, **sizes):
    return dict(label=label, base=base or label + "/before", times=times, child=child, **sizes)


class Plain:
    """A cell of which nothing is expected here but that it runs."""
    request = {}

    def __init__(self, name, source):
        self.name, self.source = name, textwrap.dedent(source).strip("\n")


class Cell:
    """One cell; the arguments are the fields that cells.py describes. `counts`: how many execution counts it takes.
    `on`: a function of the Machine that gives the fields which depend on it."""

    def __init__(self, name, source, status="ok", counts=1, front_ends=("kernel", "terminal"), requires=(), needs=(),
                 request=None, statements=None, ran=None, nested=(), markers=(), proof=(), meters=None, children=(),
                 hooks=None, exact=False, objects=False, on=None, why=""):
        self.name, self.status, self.counts, self.why = name, status, counts, why
        self.source = source if exact else textwrap.dedent(source).strip("\n")
        self.front_ends, self.requires, self.needs = list(front_ends), list(requires) + ["numpy"] * (
            "np." in self.source), list(needs)
        self.request = dict(request or {})
        self.statements = _lines(self.source) if statements is None else list(statements)
        self.ran = len(self.statements) if ran is None else ran
        self.nested, self.markers, self.proof = list(nested), list(markers), list(proof)
        self.objects, self.on = objects, on
        self.meters, self.children, self.hooks = dict(meters or {}), list(children), dict(hooks or {})

    def as_json(self, execution_count, machine):
        depends = self.on(machine) if self.on else {}
        proofs, meters = depends.get("proof", self.proof), depends.get("meters", self.meters)
        own = execution_count if self.counts and not self.request.get("silent") else None
        nested = [dict(window, execution_count=None) for window in self.nested]
        return {"name": self.name, "source": self.source, "front_ends": self.front_ends, "requires": self.requires,
                "needs": self.needs, "request": self.request, "status": self.status, "execution_count": own,
                "statements": self.statements,
                "ran": self.ran, "nested": nested, "markers": self.markers, "proof": proofs, "meters": meters,
                "children": self.children, "hooks": self.hooks, "yields": "T.free." in self.source,
                "objects": self.objects, "why": self.why}


def _lines(source):
    tree = compile(source, "<cell>", "exec", ast.PyCF_ONLY_AST | getattr(ast, "PyCF_ALLOW_TOP_LEVEL_AWAIT", 0))
    return [statement.lineno for statement in tree.body]


def begin(name):
    return 'compile("", "<ipytracer:begin %s>", "exec")' % name


def end(name):
    return 'compile("", "<ipytracer:end %s>", "exec")' % name


def spike(name, call, mapped, resident, **fields):
    """A cell of one call that marks `top` and gives everything back: page exact."""
    fields.setdefault("proof", [proof("top", mapped=mapped, resident=resident)])
    fields.setdefault("meters", spiked(mapped, resident))
    return Cell(name, call, **fields)


def spiked(mapped, resident):
    """Meters of such a cell."""
    meters = {"cpu.mapped": top(rise=near(mapped), kept=HEAP),
              "cpu.resident": top(rise=near(resident), kept=HEAP), "cpu.numpy": {"rise": [0, 0]}}
    if mapped == 0:     # nothing of its own to tower over what Python takes before or after
        meters["cpu.mapped"] = {"rise": PYTHON, "kept": HEAP, "why": PYTHON_WHY}
    if resident == 0:
        meters["cpu.resident"] = {"rise": PYTHON, "kept": HEAP, "why": PYTHON_WHY}
    return meters


def only_read(size, resident):
    """Fields of a cell that reads fresh memory, of which [least, most] becomes resident."""
    meters, (least, most) = spiked(size, resident[1]), resident
    if most:
        meters["cpu.resident"] = top(rise=[least + HEAP[0], most + HEAP[1]], kept=HEAP)
    return {"proof": [proof("top", mapped=size, resident=resident)], "meters": meters}


def innocent(name):
    return Cell(name, "pass", meters=nothing(), why="whatever ran before or runs beside it is not this cell's")


def arrays(size, most=64):
    """NumPy's own bytes: the arrays, and up to a few scalars it wraps on the way (np.ones makes a 0-d one)."""
    return [size, size + most]
