"""The parts of a notebook's overhead: traps, programs, walks up stacks, the tracepoints, boundaries, and a rest.

Traps and tracepoints are differences of runs: with empty programs at the same places, without any uprobe, without the
tracer. The kernel counts the time of programs, in runs of their own, less the counted time of an empty program. The
rest of the overhead is neither: colder caches, records on their way to another processor, and the time that the
tracer's own threads take from the kernel's core.
"""

import collections
import contextlib
import os
import statistics
import tempfile

import programs
from estimate import estimate_of, quantile
from measures.notebooks import Run, books
from pairing import interleave
from table import Remark, Row, Skipped
from tracing import Failure, Tracer

SECTION = "Where the overhead of %s goes: %% of the CPU time of the kernel and its children, --budget off, recorded"
NOTEBOOKS = ("simulation", "groupby", "torch_training")

# Programs that draw boundaries, those of the kernel's events, and the empty one. All others are behind uprobes.
BOUNDARIES = ("cell_", "statement_")
TRACEPOINTS = ("resident", "mapped", "process_")
EMPTY = "calibrate"


class Part(Run):
    """A run with part of the tracer. hollow: a hollow tracer's part; counted: with the kernel's times of programs."""

    def __init__(self, settings, cells, flags, hollow=None, counted=False):
        super().__init__(settings, cells, flags)
        self.hollow, self.counted = hollow, counted

    def ran(self, tracer):
        return programs.ran(tracer.process.pid) if self.counted else collections.Counter()

    @contextlib.contextmanager
    def _tracer(self, pid):
        binary = self.settings.tracer + ("-hollow" if self.hollow else "")
        with contextlib.ExitStack() as stack:
            if self.counted:
                stack.enter_context(programs.counting())
            yield None if self.flags is None else stack.enter_context(
                Tracer(binary, pid, *self.flags, env={"TRACER_HOLLOW": self.hollow} if self.hollow else None))


def conditions(settings, cells, place):
    """Returns the compared conditions, by name."""
    record = ["--budget", "off", "--record", os.path.join(place, "run.arrows"), "--force"]
    made = {
        "off": (None,),
        "attached": (record,),
        "no stacks": (record + ["--no-stacks"],),
        "traps": (record, "traps"),
        "tracepoints": (record, "tracepoints"),
        "counted": (record, None, True),
        "counted, no stacks": (record + ["--no-stacks"], None, True),
        "counted traps": (record, "traps", True),
    }
    return {name: lambda how=how: contextlib.nullcontext(Part(settings, cells, *how)) for name, how in made.items()}


def kind_of(name):
    """Returns the purpose of a program: "boundaries", "tracepoints", "empty" or "uprobes"."""
    if name.startswith(BOUNDARIES):
        return "boundaries"
    if name.startswith(EMPTY):
        return "empty"
    return "tracepoints" if name.startswith(TRACEPOINTS) else "uprobes"


def by_kind(ran):
    """Returns the counts of programs by kind: (runs, nanoseconds)."""
    found = {kind: (0, 0) for kind in ("boundaries", "tracepoints", "empty", "uprobes")}
    for (name, what), n in ran.items():
        runs, nanoseconds = found[kind_of(name)]
        found[kind_of(name)] = (runs + n, nanoseconds) if what == "runs" else (runs, nanoseconds + n)
    return found


def seconds_of(ran, kind, floor):
    """Returns the seconds of the programs of a kind, less the cost of counting for each run: floor, in nanoseconds."""
    runs, nanoseconds = by_kind(ran)[kind]
    return max(0, nanoseconds - floor * runs) / 1e9


def floor_of(all_empty):
    """Returns the kernel's count for an empty program, in nanoseconds, from some rounds; 0 if none ran."""
    found = [by_kind(ran)["empty"] for ran in all_empty]
    runs, nanoseconds = (sum(one[i] for one in found) for i in (0, 1))
    return nanoseconds / runs if runs else 0


def undisturbed(rounds):
    """Returns the CPU seconds of a session, from some rounds with the seconds of each of its cells: the lower
    quartile of each cell, because other work of the machine only ever adds time."""
    return sum(quantile(sorted(times), 0.25) for times in zip(*rounds))


def split(cells, ran):
    """Returns the parts of the overhead, in seconds, by name. They add up to the whole. cells has the CPU seconds of
    each cell by condition, and ran the counts of programs by counted condition, each a list over the rounds."""
    middle = {name: undisturbed(rounds) for name, rounds in cells.items()}
    floor = floor_of(ran["counted traps"])

    def took(condition, kind):
        return statistics.median(seconds_of(one, kind, floor) for one in ran[condition])
    parts = {
        "the whole": middle["attached"] - middle["off"],
        "tracepoints of page faults, maps and processes": middle["tracepoints"] - middle["off"],
        "traps: uprobes whose programs do nothing": middle["traps"] - middle["tracepoints"],
        "programs behind uprobes, without stacks": took("counted, no stacks", "uprobes"),
        "walks up stacks, and the places of mmap": took("counted", "uprobes") - took("counted, no stacks", "uprobes"),
        "boundaries: the programs of cells and statements": took("counted", "boundaries"),
    }
    parts["what is left: caches, records, the tracer's threads"] = parts["the whole"] - sum(list(parts.values())[1:])
    return parts


def about(ran, floor, name):
    """Returns the count of a part, in words; "" for the others."""
    def said(condition, kind):
        runs, _ = by_kind(ran[condition])[kind]
        each = f", {1e9 * seconds_of(ran[condition], kind, floor) / runs:.0f} ns each" if runs else ""
        return f"{runs:,} runs{each}"
    return {
        "tracepoints of page faults, maps and processes": said("counted", "tracepoints")
        + " (of all processes of the machine)",
        "traps: uprobes whose programs do nothing": f"{by_kind(ran['counted traps'])['empty'][0]:,} hits",
        "programs behind uprobes, without stacks": said("counted, no stacks", "uprobes"),
        "walks up stacks, and the places of mmap": said("counted", "uprobes") + " with stacks",
        "boundaries: the programs of cells and statements": said("counted", "boundaries"),
    }.get(name, "")


def rows(name, series, tracer):
    """Yields the rows of one notebook: series is the result of interleave()."""
    cells, ran = series["cells"].values, series["programs"].values
    rounds, bare = len(cells["off"]), undisturbed(cells["off"])

    def part(wanted, drawn):
        drawn = list(drawn)
        some = {c: [values[i] for i in drawn] for c, values in cells.items()}
        return (
            100
            * split(some, {c: [values[i] for i in drawn] for c, values in ran.items()})[wanted]
            / undisturbed(some["off"])
        )
    last, floor = {c: values[-1] for c, values in ran.items()}, floor_of(ran["counted traps"])
    for wanted in split(cells, ran):
        yield Row(
            SECTION % name,
            wanted,
            "%",
            estimate_of(lambda drawn, wanted=wanted: part(wanted, drawn), rounds),
            None,
            about(last, floor, wanted),
        )
    walks = undisturbed(cells["attached"]) - undisturbed(cells["no stacks"])
    yield Remark(
        SECTION % name,
        f"{bare:.2f} s without the tracer; with stacks and without them {walks:+.3f} s; "
        f"the tracer itself takes {tracer:.1f} % of that, "
        f"on whatever core; an empty program is counted with {floor:.0f} ns",
    )
    kinds = sorted(
        ((n, what) for (n, what) in last["counted"] if what == "runs"), key=lambda key: -last["counted"][key[0], "ns"]
    )
    yield Remark(
        SECTION % name,
        "; ".join(
            f"{n} {last['counted'][n, 'runs']:,} × {last['counted'][n, 'ns'] / last['counted'][n, 'runs']:.0f} ns"
            for n, _ in kinds[:8]
        ),
    )


def measure(settings):
    if not os.access(settings.tracer + "-hollow", os.X_OK):
        raise Failure(f"{settings.tracer}-hollow is not there: make hollow")
    for name in settings.notebooks or NOTEBOOKS:
        cells = books.read(name)
        with tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp") as place:
            try:
                found = interleave(
                    settings.rounds(9, 1),
                    conditions(settings, cells, place),
                    Run.figures,
                    warm_up=not settings.quick,
                    progress=settings.progress(name),
                )
            except Failure as e:
                yield Skipped(SECTION % name, str(e))
                continue
        yield from rows(name, found, statistics.median(found["tracer"].values["attached"]))
