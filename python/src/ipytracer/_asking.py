"""Cells that only ask about other cells. "The last cell" is then the one before them, and a table of cells leaves them
out."""

from __future__ import annotations

import ast
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._window import Window

_MAGIC = re.compile(r"[ \t]*%tracer(?:[ \t].*)?$")
# calls of the package that only ask, and change nothing
_CALLS = frozenset(("attached", "audit", "cells", "last", "lines", "vars"))
_AROUND = frozenset(("display", "len", "list", "print", "repr"))                 # calls that users put around an answer
_MOST = 4096     # characters of a cell that only asks


def only(source: object) -> bool:
    """Report whether a cell's text has nothing but %tracer, import ipytracer, and calls such as ipytracer.last() with
    an answer that is shown, printed or assigned to a name."""
    if not isinstance(source, str) or len(source) > _MOST or "tracer" not in source:
        return False
    lines = source.split("\n")
    rest = [line for line in lines if not _MAGIC.match(line)]
    asks = len(rest) < len(lines)
    if any(line.strip() and not line.lstrip().startswith("#") for line in rest):
        try:
            body = ast.parse("\n".join(rest)).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        asks = asks or any(isinstance(s, (ast.Expr, ast.Assign)) for s in body)
        return asks and all(_statement(s) for s in body)
    return asks


def _statement(s: ast.stmt) -> bool:
    if isinstance(s, ast.Import):
        return all(one.name == "ipytracer" and one.asname is None for one in s.names)
    if (
        isinstance(s, ast.Assign)
        and not all(isinstance(t, ast.Name) for t in s.targets)
        or not isinstance(s, (ast.Assign, ast.Expr))
    ):
        return False
    return _plain(s.value) and any(_is_call(n) for n in ast.walk(s.value))


_JOINING = (
    ast.BinOp,
    ast.BoolOp,
    ast.Compare,
    ast.FormattedValue,
    ast.JoinedStr,
    ast.List,
    ast.Slice,
    ast.Tuple,
    ast.UnaryOp,
)


def _plain(e: ast.expr) -> bool:
    """Report whether an expression consists of constants, answers, their parts, and results of their own methods."""
    if isinstance(e, ast.Constant):
        return True
    if isinstance(e, _JOINING):
        return all(_plain(part) for part in ast.iter_child_nodes(e) if isinstance(part, ast.expr))
    if isinstance(e, ast.Attribute):
        return _plain(e.value)
    if isinstance(e, ast.Subscript):
        return _plain(e.value) and _plain(e.slice)
    if not isinstance(e, ast.Call):
        return False
    given = e.args + [k.value for k in e.keywords]
    if isinstance(e.func, ast.Name):
        return e.func.id in _AROUND and all(_plain(a) for a in given)
    named = all(_plain(a) or isinstance(a, ast.Name) for a in given)      # lines(w)
    return named and (_is_call(e) or isinstance(e.func, ast.Attribute) and _plain(e.func.value))


def _is_call(e: ast.AST) -> bool:
    """Report whether a node is a call such as ipytracer.last()."""
    if not isinstance(e, ast.Call) or not isinstance(e.func, ast.Attribute):
        return False
    of = e.func.value
    return isinstance(of, ast.Name) and of.id == "ipytracer" and e.func.attr in _CALLS


def asks(window: Window) -> bool:
    """Report whether a Window is a cell that only asks. Where the tracer hides sources, the text comes from IPython's
    history."""
    if window.kind != "cell" or window.source_truncated:
        return False
    return only(window.source or _typed(window.execution_count))


def _typed(count: int | None) -> object:
    try:
        return sys.modules["IPython"].get_ipython().history_manager.input_hist_raw[count] if count else ""
    except (KeyError, AttributeError, IndexError, TypeError):
        return ""
