"""The plugin's summary below a test run, and the same as JSON."""

from __future__ import annotations

import json
import re

from . import _serve, _text, _words
from ._window import Figure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from ._types import Data, Figures, Settings

SCHEMA = "ipytracer/pytest/v1"
_PHASES = ("setup", "call", "teardown")
_MOST_REASONS = 5
_PLUMBING = re.compile(
    r"^(?:.*(?:_runtest|\w\.runtest|pytest_pyfunc_call|call_fixture_func) › |<string> line 1 › )(?:… › )?"
)


def figures(window: Data) -> Figures:
    """Return {meter id: Figure} of a window's dict, including its children where they make a difference."""
    return {m: Figure(**f) for m, f in dict(window["meters"], **window.get("tree", {})).items()}


def _needs(test: Data) -> tuple[int, str, Figure] | None:
    """Return (bytes, phase, Figure) of the phase that needed most; None without figures."""
    found: list[tuple[int, str, Figure]] = []
    for phase in _PHASES:
        window = test.get("windows", {}).get(phase)
        figure = figures(window).get("cpu.resident") if window else None
        if figure is not None:
            found.append((figure.need, phase, figure))
    return max(found, key=lambda f: f[0]) if found else None


def _row(test: Data, most: tuple[int, str, Figure]) -> list[str]:
    need, phase, figure = most
    windows = test["windows"]
    window = windows[phase]
    gpu = max(
        (
            f.need
            for w in windows.values()
            for m, f in figures(w).items()
            if m.startswith("gpu.") and m.endswith(".driver")
        ),
        default=0,
    )
    kept = sum(
        figures(w)["cpu.resident"].consumed for p, w in windows.items() if p in _PHASES and "cpu.resident" in figures(w)
    )
    inexact = any(
        not figures(w)["cpu.resident"].exact
        for p, w in windows.items()
        if p in _PHASES and "cpu.resident" in figures(w)
    )
    time = sum(w["duration_ns"] for p, w in windows.items() if p in _PHASES)
    # Code that maps memory for an array maps one page more than the array.
    top = max(
        window.get("top", {}).items(),
        key=lambda t: int(t[1]["at_peak"] - (t[1]["at_peak"] >> 4 if t[0] == "cpu.mapped" else 0)),
        default=None,
    )
    where = (
        "%s %s" % (_words.meter_name(top[0]), place(top[1]["where"])) if top and top[1]["at_peak"] >= 64 << 10 else ""
    )
    name = test["nodeid"] + ("" if phase == "call" else " (%s)" % phase)
    return [
        _words.safe(name),
        _words.shown(figure, "need"),
        _words.mark(not inexact) + _words.size(kept),
        _words.size(gpu) if gpu else "–",
        _words.duration(time),
        _words.safe(where, 100),
    ]


def place(where: str) -> str:
    """Return a place in a test: without the calls of pytest and of this plugin above it."""
    return _PLUMBING.sub("", where)


def table(tests: list[Data], most: int) -> _text.Table:
    """Return the tests that need most as a Table; 0: all of them."""
    found = [(n, t) for n, t in ((_needs(t), t) for t in tests) if n is not None]
    found.sort(key=lambda f: (-f[0][0], f[1]["nodeid"]))
    rows = [_row(t, n) for n, t in (found[:most] if most else found)]
    return _text.Table(["test", "need", "kept", "GPU", "time", "line at the peak…"], rows)


def summary(reporter: Any, tests: list[Data], settings: Settings, total: Data | None) -> None:
    """Write the summary to pytest's terminal."""
    blind = [t for t in tests if not any(t.get("windows", {}).values())]
    unjudged = [(t["nodeid"], why) for t in tests if t not in blind for why in t.get("not_judged") or ()]
    most = 0 if reporter.config.option.verbose >= 2 else settings.most
    shown = table(tests, most)
    quiet = settings.hidden or reporter.config.option.verbose < 0 or not settings.asked
    if quiet and not unjudged and not blind or not (shown.rows or unjudged or blind):
        return
    reporter.section("memory, by ipytracer")
    if not quiet and shown.rows:
        for line in _text.table(shown).split("\n"):
            reporter.write_line(line)
        measured = sum(_needs(t) is not None for t in tests)
        if measured > len(shown.rows):
            reporter.write_line("… and %s (-vv shows them)" % _words.plural(measured - len(shown.rows), "more test"))
        if total:
            figure = figures(total)["cpu.resident"]
            reporter.write_line("at most in the whole run, children included: " + _words.shown(figure, "peak"))
    _doubts(reporter, unjudged, blind)


def _hint() -> str:
    """Return the command to type where no tracer listens."""
    if _serve.look() == _serve.THERE:
        return "pytest --ipytracer --ipytracer-start (a 'tracer serve' runs here), or sudo tracer run -- pytest …"
    return (
        "sudo tracer run -- pytest …, or sudo tracer attach PID "
        "(without root, ask the administrator to run: sudo tracer serve)"
    )


def _doubts(reporter: Any, unjudged: list[tuple[str, str]], blind: list[Data]) -> None:
    if blind:
        why = blind[0].get("why") or "no tracer listens"
        hint = "; type: " + _hint() if why == "no tracer listens" else ""
        limits = sum(bool(t.get("limits")) for t in blind)
        judged = ", and the limits of %d of them were not judged" % limits if limits else ""
        reporter.write_line("%s without figures%s: %s%s" % (_words.plural(len(blind), "test"), judged, why, hint))
    if unjudged:
        reporter.write_line("not judged: %s" % _words.plural(len({n for n, _ in unjudged}), "test"))
        for nodeid, why in unjudged[:_MOST_REASONS]:
            reporter.write_line("  %s: %s" % (_words.safe(nodeid), why))
        if len(unjudged) > _MOST_REASONS:
            reporter.write_line("  … and %d more" % (len(unjudged) - _MOST_REASONS))


def write(file: TextIO, tests: list[Data], total: Data | None) -> None:
    """Write the figures of each test as JSON."""
    out = {"schema": SCHEMA, "tests": tests, "session": total}
    json.dump(out, file, ensure_ascii=True, indent=1)
    file.write("\n")


