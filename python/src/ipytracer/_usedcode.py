"""The functions and classes of a notebook that a cell uses, hashed: their code without the lines and the file that it
comes from. Nothing of them runs: types are compared exactly, and members are read by the descriptors of Python's own
types."""

from __future__ import annotations

import functools
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_MOST_NAMES = 1000    # names that are looked up, members of a class, constants of a function
_MOST_THINGS = 200    # functions and classes that are hashed
_MOST_CODES = 2000    # code objects of these
_MOST_BYTES = 1 << 20  # bytes of these
_MISSING = object()

_OF_TYPES: Any = type.__dict__["__dict__"].__get__(type)  # type: ignore[index]
_NAME, _MEMBERS, _MRO = (_OF_TYPES[name] for name in ("__name__", "__dict__", "__mro__"))
_CACHED: Any = type(functools.lru_cache(maxsize=1)(lambda: None))


def follow(reads: Iterable[str], namespace: dict[str, Any], code: Any) -> list[str]:
    """Hash the user's functions and classes that names stand for, and those that these use in turn. Return the names
    that stand for data."""
    names = dict.fromkeys(reads)
    data: list[str] = []
    seen: set[int] = set()
    at, budget = 0, [_MOST_CODES, _MOST_BYTES]
    while at < len(names) and at < _MOST_NAMES:
        for name in list(names)[at:_MOST_NAMES]:
            at += 1
            value = dict.get(namespace, name, _MISSING)
            if value is _MISSING:
                continue
            if not _has_code(value, namespace):
                data.append(name)
                continue
            code.update(b"\nname " + name.encode("utf-8", "surrogatepass"))
            things: list[Any] = [value]
            while things:
                thing = things.pop()
                if id(thing) in seen or len(seen) >= _MOST_THINGS:
                    continue
                seen.add(id(thing))
                used, inside = _hashed(thing, namespace, code, budget)
                things.extend(inside)
                names.update(dict.fromkeys(used))
    return data


def _is_class(value: Any) -> bool:
    return issubclass(type(value), type)


def _of_user(cls: Any) -> bool:
    """Report whether a class was made in the notebook."""
    module = _MEMBERS.__get__(cls).get("__module__")
    return type(module) is str and module == "__main__"


def _has_code(value: Any, namespace: dict[str, Any]) -> bool:
    """Report whether a value is a function or a class of the notebook, an instance of such a class, or wraps one."""
    kind = type(value)
    if kind is types.FunctionType:
        return value.__globals__ is namespace
    if kind in (functools.partial, _CACHED, types.MethodType, staticmethod, classmethod, property):
        return True
    return _of_user(value if _is_class(value) else kind)


def _hashed(value: Any, namespace: dict[str, Any], code: Any, budget: list[int]) -> tuple[list[str], list[Any]]:
    """Hash one function or class. Return the names that its code uses, and the values that it wraps."""
    kind = type(value)
    code.update(b"\n" + _NAME.__get__(kind).encode("utf-8", "surrogatepass"))
    if kind is types.FunctionType:
        return _function(value, namespace, code, budget)
    if kind in (types.MethodType, staticmethod, classmethod):
        return [], [value.__func__]
    if kind is property:
        return [], [f for f in (value.fget, value.fset) if f is not None]
    if kind is functools.partial:
        return [], [value.func]
    if kind is _CACHED:
        return [], [value.__wrapped__]
    cls = value if _is_class(value) else kind
    if not _of_user(cls):
        return [], []
    inside: list[Any] = [base for base in _MRO.__get__(cls)[1:] if _of_user(base)]
    for name, member in list(_MEMBERS.__get__(cls).items())[:_MOST_NAMES]:
        if type(name) is str and _has_code(member, namespace):
            code.update(b"\nmember " + name.encode("utf-8", "surrogatepass"))
            inside.append(member)
    return [], inside[::-1]


def _function(
    function: Any, namespace: dict[str, Any], code: Any, budget: list[int]
) -> tuple[list[str], list[Any]]:
    if function.__globals__ is not namespace:
        return [], []
    inside = []
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        if _has_code(value, namespace):
            inside.append(value)
    given = list(function.__defaults__ or ()) + list((function.__kwdefaults__ or {}).values())
    code.update("\n".join(_literal(v) for v in given[:_MOST_NAMES]).encode("utf-8", "surrogatepass"))
    return _codes(function.__code__, code, budget), inside


def _codes(first: types.CodeType, code: Any, budget: list[int]) -> list[str]:
    """Hash a code object and those within it, without the lines and the file that they come from. Return the names
    that they use."""
    names: list[str] = []
    todo = [first]
    while todo and budget[0] > 0 and budget[1] > 0:
        one = todo.pop()
        literals = [_literal(c) for c in one.co_consts]
        text = "\n".join(
            [
                "\ncode %d %d %d %d" % (one.co_argcount, one.co_posonlyargcount, one.co_kwonlyargcount, one.co_flags),
                repr((one.co_names, one.co_varnames, one.co_freevars, one.co_cellvars)),
                *literals,
            ]
        ).encode("utf-8", "surrogatepass")
        budget[0] -= 1
        budget[1] -= len(text) + len(one.co_code)
        code.update(text)
        code.update(one.co_code)
        code.update(getattr(one, "co_exceptiontable", b""))
        names.extend(one.co_names)
        todo.extend(c for c in one.co_consts if type(c) is types.CodeType)
    return names


def constant(value: object) -> str:
    """Return a constant of the source as text without line ends."""
    return hex(value) if type(value) is int else repr(value)     # of a huge integer repr would raise


_LITERALS = (bool, bytes, complex, float, int, str, type(None), type(Ellipsis))


def _literal(value: Any) -> str:
    """Return a constant of code as text, the same in each process; of anything else, the name of its type."""
    kind = type(value)
    if kind in _LITERALS:
        return constant(value)
    if kind is frozenset:      # in an order that differs between processes
        return "{%s}" % ", ".join(sorted(constant(v) if type(v) in _LITERALS else "…" for v in value))
    if kind is tuple:
        return "(%s)" % ", ".join(constant(v) if type(v) in _LITERALS else _literal_in(v) for v in value[:_MOST_NAMES])
    return str(_NAME.__get__(kind))


def _literal_in(value: Any) -> str:
    """Return a tuple within a tuple by the constants in it: constants of code nest only a few deep."""
    flat: list[str] = []
    todo = [value]
    while todo and len(flat) < _MOST_NAMES:
        one = todo.pop()
        if type(one) is tuple:
            flat.append("(%d" % len(one))
            todo.extend(one)
        else:
            flat.append(constant(one) if type(one) in _LITERALS else str(_NAME.__get__(type(one))))
    return " ".join(flat)
