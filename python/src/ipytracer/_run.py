"""%memit and %mlrun: one statement in a window of its own, and the lines that allocated in it."""

from __future__ import annotations

import getopt
import inspect
import linecache
import shlex

from . import _show, _silence, _source, _text, _way, _words
from ._line import IN_ALL, LINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType

    from ._types import Bundle, Shell
    from ._window import Line, Window

_MOST_RUNS = 1000
_PATIENCE = 0.2      # seconds that an answer may take
_MOST_ROWS = 100


def _usage(text: str) -> Exception:
    from IPython.core.error import UsageError
    error: Exception = UsageError(text)
    return error


def _options(line: str, short: str, usage: str) -> tuple[list[tuple[str, str]], str]:
    """Return the options in front of a statement, and the statement as it was typed."""
    chosen: list[tuple[str, str]] = []
    rest = line.strip()
    while rest.startswith("-"):
        word, _, after = rest.partition(" ")
        if len(word) == 2 and short.find(word[1] + ":") >= 0:      # its value is the next word
            value, _, after = after.lstrip().partition(" ")
            word = word + value
        try:
            found, more = getopt.getopt(shlex.split(word), short)
        except (getopt.GetoptError, ValueError) as e:
            raise _usage("%s; usage: %s" % (_words.safe(str(e), 80), usage)) from None
        if more:
            break
        chosen, rest = chosen + found, after.lstrip()
    return chosen, rest


def _window(shell: Shell, code: CodeType, name: str) -> Window | None:
    """Run code in the notebook's names. Return its Window, None without a tracer."""
    listens = _source.answers()
    _source.mark("begin " + name)
    try:
        exec(code, shell.user_global_ns, shell.user_ns)
    finally:
        _source.mark("end " + name)
    found = _source.ask("experiment", _PATIENCE, name=name) if listens else None
    return next((w for w in reversed(found) if w.name == name), None) if isinstance(found, list) else None


def _code(shell: Shell, text: str, name: str) -> CodeType:
    code: CodeType = compile(shell.transform_cell(text), "<%s>" % name, "exec", dont_inherit=True)
    return code


def _none() -> Bundle:
    why = _silence.words() if LINE.listens() else "no tracer listens; " + _way.todo()
    return _show.sentence("ipytracer: the statement has run, without figures: %s" % why)


def memit(shell: Shell, line: str, cell: str | None = None) -> tuple[Bundle, Window | None, bool]:
    """Run a statement, or a cell after it. Return (display bundle, the Window of the run that needed most or None,
    whether -o asks for that)."""
    usage = "%memit [-r RUNS] [-o] STATEMENT"
    options, statement = _options(line, "r:o", usage)
    runs = 1
    for name, value in options:
        if name == "-r":
            runs = int(value) if value.isdecimal() and len(value) < 6 else 0
    if not 1 <= runs <= _MOST_RUNS:
        raise _usage("-r takes a number from 1 to %d" % _MOST_RUNS)
    if cell is not None and statement:
        exec(_code(shell, statement, "memit"), shell.user_global_ns, shell.user_ns)
    if not statement and cell is None:
        raise _usage("usage: " + usage)
    code = _code(shell, statement if cell is None else cell, "memit")
    windows = [_window(shell, code, "memit") for _ in range(runs)]
    found = [w for w in windows if w is not None and "cpu.resident" in w.meters]
    if not found:
        return _none(), None, ("-o", "") in options
    most = max(found, key=lambda w: w.figures()["cpu.resident"].need)
    bundle = _show.compact(most, _source.hello())
    if runs > 1:
        missing = "" if len(found) == runs else ", %d without figures" % (runs - len(found))
        bundle = {"text/plain": bundle["text/plain"] + " · the most of %s%s" % (_words.plural(runs, "run"), missing)}
    return bundle, most, ("-o", "") in options


def mlrun(shell: Shell, line: str, cell: str | None = None) -> Bundle:
    """Run a statement. Return the lines of the functions that -f names, with the allocations of each, as a display
    bundle."""
    usage = "%mlrun -f FUNCTION [-f FUNCTION …] STATEMENT"
    options, statement = _options(line, "f:", usage)
    names = [value for name, value in options if name == "-f"]
    text = statement if cell is None else cell
    if not names or not text:
        raise _usage("usage: " + usage)
    functions = [(name, _function(shell, name)) for name in names]
    window = _window(shell, _code(shell, text, "mlrun"), "mlrun")
    if window is None:
        return _none()
    out = [_text.compact(window, _source.hello())]
    if not _source.outside():
        return {"text/plain": "\n".join([*out, _way.no_lines()])}
    told = LINE.ask("lines", _PATIENCE, IN_ALL, window=window.id)
    if not isinstance(told, list):
        return _none()
    for name, code in functions:
        out += ["", _words.safe(name, 80), _text.table(by_line(code, told))]
    return {"text/plain": "\n".join(out)}


def _function(shell: Shell, name: str) -> CodeType:
    """Return the code of a function by its name in the notebook."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise _usage("-f %s: it takes the name of a function" % ascii(name)[:60])
    first, *more = name.split(".")
    try:
        found = shell.user_ns[first]
        for part in more:
            found = inspect.getattr_static(found, part) if not inspect.ismodule(found) else getattr(found, part)
    except (KeyError, AttributeError):
        raise _usage("-f %s: there is no such name" % _words.safe(name, 60)) from None
    if isinstance(found, (staticmethod, classmethod)):
        found = found.__func__
    code: CodeType | None = getattr(inspect.unwrap(found), "__code__", None)
    if code is None:
        raise _usage("-f %s: it is no Python function" % _words.safe(name, 60))
    return code


def _lines_of(code: CodeType) -> set[int]:
    """Return the numbers of a function's lines, including those of functions within it."""
    found = {n for _, _, n in code.co_lines() if n} if hasattr(code, "co_lines") else set()
    if not found:
        import dis
        found = {n for _, n in dis.findlinestarts(code) if n}
    for inner in code.co_consts:
        if inspect.iscode(inner):
            found |= _lines_of(inner)
    return found | {code.co_firstlineno}


def by_line(code: CodeType, told: Iterable[Line]) -> _text.Table:
    """Return the Lines of a function's lines, in their order, as a Table. An allocation counts for the innermost of the
    function's lines in its calls."""
    lines, names = _lines_of(code), {code.co_name, getattr(code, "co_qualname", code.co_name)}
    sums: dict[tuple[int, str], tuple[int, ...]] = {}
    for line in told:
        for f in line.stack:
            short = f.function.rsplit(".", 1)[-1]
            if (
                f.line in lines
                and (f.function in names or short == code.co_name)
                and (f.execution is not None or f.file == code.co_filename)
            ):
                key = f.line, line.meter
                sums[key] = tuple(
                    a + b
                    for a, b in zip(sums.get(key, (0, 0, 0, 0)), (line.at_peak, line.allocated, line.net, line.count))
                )
                break
    rows = []
    for (number, meter), (peak, allocated, net, count) in sorted(sums.items()):
        source = linecache.getline(code.co_filename, number).strip()
        rows.append(
            [
                str(number),
                _words.meter_name(meter),
                _words.size(peak),
                _words.size(allocated),
                _words.size(net),
                format(count, ","),
                _words.safe(source, 80),
            ]
        )
    return _text.Table(["line", "meter…", "at peak", "allocated", "net", "times", "source…"], rows[:_MOST_ROWS])
