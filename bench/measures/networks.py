"""What storms of small blocks cost within the budget: notebooks of bench/notebooks, and simulation, attached and recorded against not. Of how
many windows the meters of NumPy and of PyTorch on the CPU are exact, and how far lines come from samples."""

import contextlib
import glob
import json
import os
import statistics
import tempfile

from estimate import estimate_of
from measures.notebooks import Run, books
from pairing import interleave, undisturbed
from table import Row
from tracing import Tracer

SECTION = "Storms of small blocks: CPU time of the kernel and its children, attached with --record, against a fresh kernel without"
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "notebooks")
METERS = ("cpu.numpy", "cpu.torch")


def notebooks():
    """The files of the notebooks."""
    return [os.path.join(books.HERE, "simulation.ipy"), *sorted(glob.glob(os.path.join(HERE, "*.ipy")))]


def exact_windows(report):
    """(how many windows have an exact figure, how many have one), of the meters together."""
    figures = [w["meters"][meter] for w in report["windows"] if w["kind"] == "cell" for meter in METERS if meter in w["meters"]]
    return sum(f["exact"] for f in figures), len(figures)


def sampled_share(report):
    """Of the bytes that lines of the session allocated, the part that comes from samples."""
    lines = [line for line in report["lines"] if line["meter"] in METERS]
    allocated = sum(line["own_allocated"] for line in lines)
    return sum(line["own_allocated"] for line in lines if line.get("sampled")) / allocated if allocated else 0


class Reported(Run):
    """A run that keeps what the tracer's report says of its meters."""

    def __init__(self, settings, cells, flags, output):
        super().__init__(settings, cells, flags and [*flags, "--output", output])
        self.output = output

    def figures(self):
        found = super().figures()
        if self.flags is None:
            return found | {"exact": (0, 0), "sampled": 0}
        with open(self.output, encoding="utf-8") as f:
            report = json.load(f)
        return found | {"exact": exact_windows(report), "sampled": sampled_share(report)}


def measure(settings):
    wanted = settings.notebooks
    for path in notebooks():
        name = os.path.splitext(os.path.basename(path))[0]
        if wanted and name not in wanted:
            continue
        cells = books.read(path)
        with tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp") as place:
            flags = ["--record", os.path.join(place, "run.arrows"), "--force"]
            made = {"off": None, "attached": flags, "budget off": [*flags, "--budget", "off"]}
            conditions = {c: lambda f=f: contextlib.nullcontext(Reported(settings, cells, f, os.path.join(place, "report.json"))) for c, f in made.items()}
            found = interleave(settings.rounds(9, 1), conditions, Reported.figures, warm_up=not settings.quick, progress=settings.progress(name))
        seconds, rounds = statistics.median(found["cpu"].values["off"]), len(found["cpu"].values["off"])
        for condition in ("attached", "budget off"):
            exact = [sum(part) for part in zip(*found["exact"].values[condition])]
            sampled = statistics.median(found["sampled"].values[condition])
            yield Row(SECTION, f"{name}, {condition}", "%", estimate_of(undisturbed(found["cells"], condition, "off"), rounds), 6 if condition == "attached" else None,
                      f"{seconds:.2f} s without the tracer; exact in {exact[0]} of {exact[1]} windows; {100 * sampled:.0f} % of what lines allocated is from samples")
