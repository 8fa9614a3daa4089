"""%tracer and %%tracer."""

from __future__ import annotations

import itertools
import os
import re

from . import _api, _asking, _inside, _serve, _show, _silence, _source, _text, _way, _words
from ._line import LINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._types import Bundle, Companion, Shell
    from ._window import Window

HELP = """\
%tracer            what is shown, and whether a tracer listens
%tracer start      have a running 'tracer serve' trace this kernel; stop ends that
%tracer on | off   show figures under each cell, or do not
%tracer compact    one line under each cell
%tracer full       a table of every meter under each cell
%tracer last       that table, of the last cell
%tracer table      the cells of this session, by what they need
%tracer lines      who allocated in the last cell
%tracer vars       the variables of this process: what each holds, who made it
%tracer audit      what stays behind: who made it, what holds it, what to do
%tracer advise     what to change so that the highest moment is lower, and by how much
%tracer audit --check   looks again: what came back of what was predicted
%tracer counts on  NumPy's arrays, counted in this process to the byte; off; gpu: PyTorch's peaks of each cell
%tracer live       how this cell is doing, now; off | on | SECONDS: from when on cells show that
%tracer limit SIZE a MemoryError where this process would map more, also: off
%tracer guard on   asks before a cell runs that needed more memory than is free; error | off
%tracer guard remember here | home   keeps what cells needed, without source; forget deletes it
%%tracer run       runs this one cell all the same
%memit STATEMENT   what a statement needs; -r 5: the most of five runs
%mlrun -f F STATEMENT   what each line of the function F allocates in it
%%tracer [full]    figures under this one cell, also while they are off
In Python: ipytracer.last(), .cells(), .lines(), .vars(), .audit(), .experiment(name)"""

WORDS = (
    "start",
    "stop",
    "on",
    "off",
    "compact",
    "full",
    "last",
    "table",
    "lines",
    "vars",
    "audit",
    "advise",
    "counts on|off|gpu",
    "live on|off|SECONDS",
    "limit SIZE",
    "guard on|error|off",
    "help",
)
_numbers = itertools.count(1)
_FIRST = re.compile(r"^%%tracer(?:[ \t]+(compact|full|run))?[ \t]*$")


def _wrong(said: str, choices: Sequence[str]) -> Exception:
    from IPython.core.error import UsageError
    said = said if len(said) <= 40 else said[:39] + "…"
    error: Exception = UsageError("%s is none of: %s" % (ascii(said), ", ".join(choices)))
    return error


def tracer(companion: Companion, words: str) -> Bundle | None:
    """Carry out a line of %tracer. Return the display bundle to show, or None."""
    word = words.strip()
    if word.split()[:1] == ["limit"]:
        return _limited(word.split(None, 1)[1] if " " in word else "")
    if word.split()[:1] == ["counts"]:
        return _counted(" ".join(word.split()[1:]))
    if word.split()[:1] == ["live"]:
        return _live(companion, word.split()[1:])
    if word.split()[:1] == ["guard"]:
        return _guarded(companion, " ".join(word.split()[1:]))
    if word in ("vars", "audit", "advise") or word.split() == ["audit", "--check"]:
        return _looked(companion, "check" if "--check" in word else word)
    if word in ("on", "off"):
        companion.on, companion.chosen = word == "on", True
    elif word in ("compact", "full"):
        companion.on, companion.chosen, companion.full = True, True, word == "full"
    elif word in ("start", "stop"):
        return _show.sentence("ipytracer: " + _words.safe(_serve.sentence(word, LINE.look(), _way.todo()), 600))
    elif word == "help":
        return {"text/plain": HELP}
    elif word in ("", "last", "table", "lines"):
        return _asked(companion, word)
    else:
        raise _wrong(word, WORDS)
    return None


def _limited(word: str) -> Bundle:
    from IPython.core.error import UsageError

    from . import _limit
    try:
        return _show.sentence(_limit.limit(word.strip()))
    except (ValueError, OSError) as e:
        raise UsageError("limit: %s" % e) from None


def _counted(word: str) -> Bundle:
    try:
        _source.answers(cell=True)     # beside a tracer no array is made by our allocator before there is a page
        said = _inside.INSIDE.count(word)
        _source.answers(cell=True)
        return _show.sentence("ipytracer: %s%s" % (said, _source.uncounted()))
    except ValueError as e:
        raise _wrong(word, [str(e)]) from None


def _guarded(companion: Companion, word: str) -> Bundle:
    try:
        return _show.sentence(companion.guard.carry_out(word))
    except ValueError as e:
        raise _wrong(word, [str(e)]) from None


_SHOWN_AFTER = 0.4       # seconds of looking that are not worth a message
# seconds to wait while the tracer says that it looks
_LOOKS_FOR = {"vars": 60.0, "audit": 300.0, "advise": 60.0, "check": 60.0}


def _looked(companion: Companion, word: str) -> Bundle | None:
    """Return the result of a look. The reason of a wait is shown; in notebooks the result replaces it."""
    if not LINE.look() and (word != "vars" or not _source.answers()):
        return _show.sentence(_way.unheard())
    shell, display, said = companion.shell, None, [0.0]
    changes = getattr(shell, "kernel", None) is not None

    def say(seconds: float, wait: float | None) -> None:
        nonlocal display
        if seconds < _SHOWN_AFTER or display is not None and (not changes or seconds - said[0] < 0.5):
            return
        said[0], again = seconds, display is not None
        display = display or "ipytracer-look-%d-%d" % (os.getpid(), next(_numbers))
        text = (
            "… the tracer is busy and answers late"
            if wait is None
            else "… looking"
            if wait <= 0
            else "… looks have taken their share of the time: the next begins in %s"
            % _words.duration(round(wait * 1e9))
        )
        _show.publish(
            shell,
            _show.sentence(
                "ipytracer: %s (%s)" % (text, _words.duration(round(seconds * 1e9)))
                if changes
                else "ipytracer: " + text
            ),
            display if changes else None,
            again,
        )

    try:
        found = _api.look(word, _LOOKS_FOR[word], say)
    except KeyboardInterrupt:
        if display is not None and changes:
            _show.publish(shell, _show.sentence("ipytracer: the look was given up"), display, True)
        raise
    if isinstance(found, str):
        bundle = _show.sentence("ipytracer: " + found)
    else:
        shows: dict[str, Callable[[Any], Bundle]] = {
            "vars": _show.variables, "audit": _show.audit, "advise": _show.advice, "check": _show.checked,
        }
        bundle = shows[word](found)
    if display is None or not changes:
        return bundle
    _show.publish(shell, bundle, display, True)
    return None


def _live(companion: Companion, words: list[str]) -> Bundle | None:
    """Carry out %tracer live: show how the running cell is doing. on, off, or the seconds after which every cell shows
    that."""
    if not words:
        return companion.live.now()
    word = words[0]
    try:
        if len(words) > 1:
            raise ValueError
        companion.live.least = {"on": 1.0, "off": None}[word] if word in ("on", "off") else _seconds(word)
    except ValueError:
        raise _wrong(" ".join(words), ("on", "off", "a number of seconds from 1 on")) from None
    return None


def _seconds(word: str) -> float:
    seconds = float(word)
    if not 1 <= seconds <= 1e6:
        raise ValueError
    return seconds


def _asked(companion: Companion, word: str) -> Bundle:
    hello = _source.hello() if _source.answers() else None
    if hello is None:
        return _show.sentence(_way.unheard())
    if not word:
        how = ("full" if companion.full else "compact") if companion.lines else "at cells" if companion.on else "off"
        if not _source.outside():
            return _show.sentence("%s; figures under cells: %s; %s" % (_inside.INSIDE.state(), how, _way.todo()))
        silent = "; " + companion.silence.now() if companion.silence.since is not None else ""
        report = "; its report will be in " + _words.safe(hello.report, 300) if hello.report else ""
        slower = "; slower: " + companion.slower if companion.slower else ""
        return _show.sentence(
            "ipytracer: tracer %s listens, figures under cells: %s%s%s%s" % (hello.tracer, how, silent, report, slower)
        )
    return _table() if word == "table" else _of_last(word)


_UNANSWERED = "ipytracer: %s: it is stopped, or very busy; ask again, or see its report"


def _of_last(word: str) -> Bundle:
    """Return the last cell that does not only ask, or the lines that allocated in it."""
    window, answered = _api.find_last()
    if answered and window is None:
        return _show.sentence("ipytracer: no cell has run yet that %s tells of" % _teller())
    if not answered or window is None:
        return _show.sentence(_UNANSWERED % _silence.words())
    if word == "last":
        return _show.full(window, _source.hello())
    if not _source.outside():
        return _show.sentence(_way.no_lines())
    found, answered = _api.find_lines(window.id)
    if not answered:
        return _show.sentence(_UNANSWERED % _silence.words())
    return _show.table(_text.lines(found))


def _teller() -> str:
    return "the tracer" if _source.outside() else "this process"


def _table() -> Bundle:
    """Return the cells of this session, without those that only ask."""
    found, answered = _api.find_cells()
    if not found:
        return _show.sentence(
            "ipytracer: no cell has run yet that %s tells of" % _teller()
            if answered
            else _UNANSWERED % _silence.words()
        )
    work = [w for w in found if not _asking.asks(w)]
    notes = []
    if len(work) < len(found):
        notes.append(
            "without %s that only %s"
            % (_words.plural(len(found) - len(work), "cell"), "asks" if len(found) - len(work) == 1 else "ask")
        )
    if not answered:
        notes.append(_silence.words() + ": cells are missing")
    return _show.table(_text.cells(work), "; ".join(notes))


def line_magic(line: str = "") -> None:
    """%tracer start|stop|on|off|compact|full|last|table|lines|vars|audit|advise|live|limit|guard|help: figures
    under the cells. %tracer help says more."""
    companion = _companion()
    if line.startswith("this-cell "):      # the form of %%tracer after the transformer
        if not line.endswith("run"):
            companion.once = line.endswith("full")
        return
    bundle = tracer(companion, line)
    if bundle is not None:
        _show.publish(companion.shell, bundle)


def cell_magic(line: str, cell: str) -> None:
    """%%tracer [compact|full]: figures under this one cell, also while they are off. %%tracer run: run this one cell
    though it needed more memory than is free."""
    companion = _companion()
    if line.strip() not in ("", "compact", "full", "run"):
        raise _wrong(line.strip(), ("compact", "full", "run"))
    if line.strip() != "run":
        companion.once = line.strip() == "full"
    companion.shell.run_cell(cell)


def memit(line: str = "", cell: str | None = None) -> Window | None:
    """%memit [-r RUNS] [-o] STATEMENT: the exact need of a statement; %%memit: that of a cell, after the statement in
    its first line. -o: the result is a Window."""
    from . import _run
    companion = _companion()
    bundle, window, wanted = _run.memit(companion.shell, line, cell)
    _show.publish(companion.shell, bundle)
    return window if wanted else None


def mlrun(line: str = "", cell: str | None = None) -> None:
    """%mlrun -f FUNCTION STATEMENT: the allocations of each line of a function while a statement runs; %%mlrun: of a
    cell."""
    from . import _run
    companion = _companion()
    _show.publish(companion.shell, _run.mlrun(companion.shell, line, cell))


def _companion() -> Any:
    from IPython import get_ipython
    return _way.of(get_ipython())


def unwrapped(lines: list[str]) -> list[str]:
    """Transform input: %%tracer becomes a line of the cell, so that the cell runs as it would without. Where another
    cell magic follows, it remains the magic that it is."""
    found = _FIRST.match(lines[0].rstrip("\n")) if len(lines) > 1 else None
    if found is None or lines[1].startswith("%%"):
        return lines
    return ["get_ipython().run_line_magic('tracer', 'this-cell %s')\n" % (found.group(1) or "compact")] + lines[1:]


_OTHERS = (("memit", memit), ("mlrun", mlrun))     # where these names are taken they stay as they are


def register(shell: Shell) -> None:
    """Register the magics in a shell."""
    shell.register_magic_function(line_magic, "line", "tracer")
    shell.register_magic_function(cell_magic, "cell", "tracer")
    for name, function in _OTHERS:
        if shell.find_line_magic(name) is None:
            shell.register_magic_function(function, "line_cell", name)
    shell.input_transformers_cleanup.append(unwrapped)


def unregister(shell: Shell) -> None:
    """Remove the magics."""
    for kind in ("line", "cell"):
        magics = shell.magics_manager.magics[kind]
        magics.pop("tracer", None)
        for name, function in _OTHERS:
            if magics.get(name) is function:
                del magics[name]
    if unwrapped in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.remove(unwrapped)
