"""The key of a cell: a hash of its source and of the user's functions and classes that it uses. A second hash has the
sizes of the data that it reads.

Nothing of the user's objects runs here: types are compared exactly, and members of functions and classes are read by
the descriptors of Python's own types. Every loop has a bound, and no function calls itself.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import re
import warnings

from . import _datasizes, _usedcode
from ._named import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_SOURCE = 256 << 10    # characters of a cell that has a key
_MOST_PARSED = 16 << 10    # characters of a cell that is parsed: of a longer one the text is hashed
_MOST_NAMES = 1000         # names that are looked up

_FIRST = re.compile(r"%%tracer(?:[ \t]+\w+)?[ \t]*\n")
_WORD = re.compile(r"[^\W\d]\w*")
_BOUND = re.compile(r"\b(?:def|class|import|as|for)\s+([^\W\d]\w*)|\b([^\W\d]\w*)[ \t]*=(?!=)")
_CALL = "__magic_of_a_cell__"
_AROUND = re.compile(r"%%(?:capture|memit|mlrun|prun|time|timeit)\b")     # magics with Python behind their line
# a line that is a magic or a command, or that assigns its output; or that asks for help
_MAGIC = re.compile(r"^([ \t]*(?:[\w.,]+[ \t]*=[ \t]*)?)([%!].*)$|^(.*\?)[ \t]*$", re.MULTILINE)


class Key(NamedTuple):
    """The hash of a cell's code, and that of the sizes of the data that it reads: hexadecimal digits."""

    code: str
    data: str


def key(source: str, namespace: dict[str, Any]) -> Key | None:
    """Return the key of a cell with that text, None for one that is too long. namespace: the user's names."""
    if len(source) > MOST_SOURCE:
        return None
    found = _FIRST.match(source)
    source = source[found.end():] if found else source
    text, reads = _remembered(source) if len(source) <= _MOST_PARSED else _read(source)
    code = hashlib.blake2b(text, digest_size=16)
    data = _usedcode.follow(reads, namespace, code)
    return Key(code.hexdigest(), _datasizes.hashed(data, namespace))


def _read(source: str) -> tuple[bytes, list[str]]:
    """Return the hash of a cell's own text, and the names that it reads."""
    parsed = _parsed(source) if len(source) <= _MOST_PARSED else None
    if parsed is None:
        bound = {name for pair in _BOUND.findall(source) for name in pair}
        out, reads = ["text", source], [n for n in dict.fromkeys(_WORD.findall(source)) if n not in bound]
    else:
        out, reads = _walked(parsed)
    text = "\n".join(out).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).digest(), reads[:_MOST_NAMES]


_remembered = functools.lru_cache(maxsize=64)(_read)


# ---- the cell's own text


def _parsed(source: str) -> list[ast.stmt] | None:
    """Return the statements of a cell, None where Python cannot parse it."""
    try:
        return _parse(source)
    except SyntaxError:
        pass
    except (ValueError, RecursionError, MemoryError):
        return None
    plain = _plain(source)
    try:
        return None if plain is None else _parse(plain)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parse(source: str) -> list[ast.stmt]:
    if "\\" not in source:
        return ast.parse(source).body
    with warnings.catch_warnings():      # a user sees a warning about a wrong escape once: when the cell runs
        warnings.simplefilter("ignore")
        return ast.parse(source).body


def _plain(source: str) -> str | None:
    """Return a cell with magics as Python: each line of a magic becomes a call with its text. None for a cell that a
    magic takes whole, as %%bash does. IPython's own transformers take longer, and those of other packages may have
    effects."""
    first, _, rest = source.partition("\n")
    if first.startswith("%%"):
        if not _AROUND.match(first):
            return None
        source = "%s(%r)\n%s" % (_CALL, first, rest)
    return _MAGIC.sub(_called, source)


def _called(found: re.Match[str]) -> str:
    before, magic, asked = found.groups()
    return "%s(%r)" % (_CALL, asked) if asked else "%s%s(%r)" % (before, _CALL, magic)


_UNSEEN = frozenset(("ctx", "kind", "type_comment", "type_ignores"))
_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ASSIGNS = (ast.Assign, ast.AugAssign, ast.AnnAssign)


class _Walk:
    """A walk over one statement: its text without positions, the names that it reads and those that it binds."""

    __slots__ = ("out", "loads", "binds", "within")

    def __init__(self, out: list[str]) -> None:
        self.out = out
        self.loads: dict[str, None] = {}
        self.binds: set[str] = set()
        self.within: list[str] = []      # the code in strings that magics run

    def over(self, statement: ast.AST) -> None:
        """Walk over a statement."""
        out = self.out
        stack: list[Any] = [statement]
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is list:
                out.append("[%d" % len(node))
                stack.extend(reversed(node))
            elif isinstance(node, ast.AST):
                out.append(kind.__name__)
                if kind is ast.Name:
                    self._named(node)
                elif kind is not ast.Constant:
                    self._bound(node)
                stack.extend(getattr(node, field, None) for field in kind._fields if field not in _UNSEEN)
            else:
                out.append(_usedcode.constant(node))

    def _named(self, node: Any) -> None:
        if isinstance(node.ctx, ast.Load):
            self.loads[node.id] = None
        else:
            self.binds.add(node.id)

    def _bound(self, node: Any) -> None:
        if isinstance(node, ast.arg):
            self.binds.add(node.arg)
        elif isinstance(node, _DEFINES):
            self.binds.add(node.name)
        elif isinstance(node, ast.alias):
            self.binds.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self.binds.add(node.name)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == _CALL:
            self.within.extend(a.value for a in node.args if isinstance(a, ast.Constant) and type(a.value) is str)


def _walked(statements: list[ast.stmt]) -> tuple[list[str], list[str]]:
    """Return a cell's text without positions, and the names that it reads before it binds them."""
    out: list[str] = []
    reads: dict[str, None] = {}
    bound: set[str] = set()
    for statement in statements:
        walk = _Walk(out)
        walk.over(statement)
        for text in walk.within:
            walk.loads.update(dict.fromkeys(_words_of(text)))
        own = walk.binds - _targets(statement) if isinstance(statement, _ASSIGNS) else walk.binds
        reads.update((name, None) for name in walk.loads if name not in bound and name not in own)
        bound |= walk.binds
    return out, list(reads)


def _words_of(text: str) -> list[str]:
    """Return the names that may be read by code in a string that a magic runs, with the magic's own options."""
    return _WORD.findall(text[:_MOST_PARSED])[:_MOST_NAMES]


def _targets(statement: Any) -> set[str]:
    """Return the names that an assignment gives values to: its right side may read them."""
    walk = _Walk([])
    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
        walk.over(target)
    if isinstance(statement, ast.AugAssign):
        return set()
    return walk.binds
