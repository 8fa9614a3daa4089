"""The windows that this process has measured itself, as a report in the tracer's JSON (ipytracer/report/v1) with a
certificate of its own."""

from __future__ import annotations

import os
import sys

from . import _source
from ._inside import INSIDE, PROBLEMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Data
    from ._window import Window

SCHEMA = "ipytracer/report/v1"
_BETWEEN = "figures between cells, and over time, are not known"
_NOBODY = "who allocated is known to a tracer outside only"


def report() -> Data | None:
    """Return the report of this session as JSON data (ipytracer/report/v1), as far as this process has measured itself;
    None where a tracer listens, which writes a report of its own, and where nothing was measured.

    Sizes are bytes, times nanoseconds. The certificate is never complete: it says what the figures rest on.
    """
    if not _source.answers() or _source.outside():
        return None
    windows = INSIDE.windows()
    if not windows:
        return None
    session, pid = windows[0], os.getpid()
    return {
        "schema": SCHEMA,
        "host": _host(),
        "processes": [
            {
                "pid": pid,
                "parent": 0,
                "command": os.path.basename(sys.executable or "python"),
                "python": "%d.%d.%d" % sys.version_info[:3],
                "start_ns": 0,
                "end_ns": session.duration_ns,
                "ended": False,
                "late": True,
                "meters": session.to_dict()["meters"],
            }
        ],
        "meters": [_meter(meter, windows) for meter in sorted(INSIDE.sources)],
        "windows": [w.to_dict() for w in windows],
        "between": [],
        "timeline": [],
        "certificate": _certificate(),
        "stacks": [{"frames": []}],
        "frames": [],
    }


def _host() -> Data:
    machine = os.uname()
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        memory = 0
    return {
        "name": machine.nodename,
        "kernel": machine.release,
        "cpus": os.cpu_count() or 1,
        "memory": memory,
        "tracer": "none: read inside the process",
        "started": INSIDE.started,
    }


def _meter(meter: str, windows: list[Window]) -> Data:
    """Return where a meter's figures come from, with the largest bound of any window."""
    bounds = [w.meters[meter].bound for w in windows if meter in w.meters]
    bound = max((b for b in bounds if b is not None), default=0) if None not in bounds else None
    return {"id": meter, "unit": "bytes", "source": INSIDE.sources[meter], "exact": bound == 0, "bound": bound}


def _certificate() -> Data:
    problems = [*PROBLEMS, _BETWEEN]
    return {
        "complete": False,
        "incomplete": problems,
        "attribution": {"complete": False, "incomplete": [_NOBODY]},
        "finished": "",
        "made": 0,
        "delivered": 0,
        "lost": [],
        "boundaries_lost": 0,
        "unknown_frees": 0,
        "unknown_device_frees": 0,
        "late_libraries": [],
        "probes": [],
        "meters": [],
        "problems": problems,
    }
