"""The names of a notebook as an experiment begins and ends."""

from __future__ import annotations

import types
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union

    from ._types import Shell

    _Seen = Union[weakref.ref[Any], tuple[int, type]]

UNTOUCHED = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)


class Names:
    """The meanings of a notebook's names at one moment, without keeping any value alive."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._then = {name: _seen(value) for name, value in self._names()}
        self._outputs = set(self._shown())

    def _names(self) -> list[tuple[str, Any]]:
        if self._shell is None:
            return []
        hidden = self._shell.user_ns_hidden
        return [(n, v) for n, v in list(self._shell.user_ns.items()) if not n.startswith("_") and n not in hidden]

    def _shown(self) -> list[int]:
        """Return the numbers of outputs that the notebook keeps."""
        out = self._shell.user_ns.get("Out") if self._shell is not None else None
        return [n for n in out if type(n) is int] if type(out) is dict else []

    def value(self, name: str) -> Any:
        """Return the current value of a name."""
        return self._shell.user_ns.get(name) if self._shell is not None else None

    def outputs(self) -> tuple[str, ...]:
        """Return the outputs that it has gained since, as names."""
        return tuple("Out[%d]" % n for n in self._shown() if n not in self._outputs)

    def end(self, keep: frozenset[str]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Delete the names that are new. Return those deleted, those kept, and older ones with another value."""
        deleted, kept, reassigned = [], [], []
        for name, value in self._names():
            then = self._then.get(name)
            if then is not None:
                if not _same(then, value):
                    reassigned.append(name)
            elif name in keep or isinstance(value, UNTOUCHED):
                kept.append(name)
            elif not type(value).__module__.startswith("ipytracer."):
                self._shell.user_ns.pop(name, None)
                deleted.append(name)
        return tuple(deleted), tuple(kept), tuple(reassigned)


def _seen(value: object) -> _Seen:
    try:
        return weakref.ref(value)
    except TypeError:
        return id(value), type(value)


def _same(seen: _Seen, value: object) -> bool:
    if isinstance(seen, tuple):
        return seen[0] == id(value) and seen[1] is type(value)
    return seen() is value
