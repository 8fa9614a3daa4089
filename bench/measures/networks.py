"""The cost of storms of small blocks within the budget: notebooks of bench/notebooks, and simulation, attached and
recorded against not. It also counts the windows with exact meters of NumPy and of PyTorch on the CPU, and the part of
lines that comes from samples."""

import contextlib
import glob
import os
import statistics
import tempfile

from estimate import estimate_of
from measures.notebooks import Reported, books, exactness
from pairing import interleave, undisturbed
from table import Row

SECTION = (
    "Storms of small blocks: CPU time of the kernel and its children, attached with --record, "
    "against a fresh kernel without"
)
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "notebooks")


def notebooks():
    """Returns the files of the notebooks."""
    return [os.path.join(books.HERE, "simulation.ipy"), *sorted(glob.glob(os.path.join(HERE, "*.ipy")))]


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
            conditions = {
                c: lambda f=f, cells=cells: contextlib.nullcontext(Reported(settings, cells, f, place))
                for c, f in made.items()
            }
            found = interleave(
                settings.rounds(9, 1),
                conditions,
                Reported.figures,
                warm_up=not settings.quick,
                progress=settings.progress(name),
            )
        seconds, rounds = statistics.median(found["cpu"].values["off"]), len(found["cpu"].values["off"])
        for condition in ("attached", "budget off"):
            sampled = statistics.median(found["sampled"].values[condition])
            yield Row(
                SECTION,
                f"{name}, {condition}",
                "%",
                estimate_of(undisturbed(found["cells"], condition, "off"), rounds),
                6 if condition == "attached" else None,
                (
                    f"{seconds:.2f} s without the tracer; {exactness(found, condition)}; "
                    f"{100 * sampled:.0f} % of what lines allocated is from samples"
                ),
            )
