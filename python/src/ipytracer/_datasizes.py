"""The sizes of the data that a cell reads, hashed: numbers, lengths, and shapes of arrays, frames and tensors. Only
types that are exactly known are read."""

from __future__ import annotations

import hashlib
import sys
import types

from ._usedcode import constant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_DATA = 200     # names with sizes that count
_SIZED = (bytes, bytearray, dict, frozenset, list, range, set, str, tuple)
_FLAGS: Any = type.__dict__["__flags__"]  # type: ignore[index]
_HEAP = 1 << 9     # Py_TPFLAGS_HEAPTYPE: Python code can make such a type, and no other


def hashed(names: list[str], namespace: dict[str, Any]) -> str:
    """Return the hash of the sizes of data."""
    data = hashlib.blake2b(digest_size=4)
    for name in sorted(names)[:_MOST_DATA]:
        size = _size(dict.get(namespace, name))
        if size is not None:
            data.update(("%s %s\n" % (name, size)).encode("utf-8", "surrogatepass"))
    return data.hexdigest()


def _size(value: Any) -> str | None:
    """Return the size of a value of a known type: a number itself, a length, a shape. None for all others."""
    kind = type(value)
    if kind in (bool, float, int):
        return constant(value) if kind is not int or -(1 << 64) < value < 1 << 64 else "int"
    if kind in _SIZED:
        return "%s %d" % (kind.__name__, len(value))
    name = _known(kind)
    if name is None:
        return None
    try:
        return "%s %s" % (name, tuple(int(n) for n in value.shape))
    except Exception:
        return None


def _known(kind: Any) -> str | None:
    """Return the name of a type of arrays, frames or tensors, None for any other."""
    for module, names in (("numpy", ("ndarray",)), ("pandas", ("DataFrame", "Series")), ("torch", ("Tensor",))):
        found = sys.modules.get(module)
        if type(found) is not types.ModuleType:
            continue
        for name in names:
            if kind is found.__dict__.get(name) and (module != "numpy" or not _FLAGS.__get__(kind) & _HEAP):
                return "%s.%s" % (module, name)
    return None
