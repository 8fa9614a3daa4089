"""The variables of this notebook, as this process sees them itself: what each name reaches at least, and what goes
with it where no other reference to its object exists."""

from __future__ import annotations

import sys

from ._looked import Variable, Variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._types import Shell

WHY = (
    "read inside this process: sizes are the least (\u2265); who made them, what else holds them, and names of modules "
    "and tracebacks are known to a tracer outside only"
)
_MOST = 200              # names
_MOST_ELEMENTS = 10_000  # of a container
_CONTAINERS = (list, tuple, set, frozenset)


def variables(shell: Shell) -> Variables:
    """Return the names of a notebook, those that reach most first."""
    hidden = shell.user_ns_hidden
    names = {n: v for n, v in list(shell.user_ns.items()) if not n.startswith("_") and n not in hidden}
    alone = _references({"": object()})[""] + 1      # the notebook's namespace has one more
    counted = _references(names)
    found = []
    for name, value in names.items():
        try:
            own, reaches = _sizes(value)
        except Exception:        # code of the user's, such as a broken __sizeof__
            continue
        found.append(_variable(name, value, own if counted[name] <= alone else 0, reaches))
    found.sort(key=lambda v: -v.reaches)
    result = Variables(found[:_MOST])
    result.unlisted, result.unlisted_bytes = len(found[_MOST:]), sum(v.bytes for v in found[_MOST:])
    result.why, result.complete = WHY, True
    return result


def _references(values: dict[str, Any]) -> dict[str, int]:
    """Return how many references each value has, with those of this call."""
    return {name: sys.getrefcount(values[name]) for name in values}


def _sizes(value: Any) -> tuple[int, int]:
    """Return the memory of an object that goes with it if nothing else has a reference to it, and the memory that it
    reaches: both the least, in bytes."""
    module = type(value).__module__.split(".")[0]
    if module == "numpy" and type(value).__name__ == "ndarray":
        base = value
        while type(base).__module__ == "numpy" and type(base).__name__ == "ndarray" and base.base is not None:
            base = base.base
        reached = getattr(base, "nbytes", 0)
        return (value.nbytes if value.flags.owndata else 0), reached if isinstance(reached, int) else value.nbytes
    if module == "pandas" and hasattr(value, "memory_usage"):
        used = value.memory_usage()
        return 0, int(used.sum() if hasattr(used, "sum") else used)
    if module == "torch" and hasattr(value, "untyped_storage"):
        return 0, 0 if value.is_cuda else int(value.untyped_storage().nbytes())
    own = sys.getsizeof(value)
    elements = _elements(value)
    return own, own + sum(_sizes(e)[1] if _is_array(e) else sys.getsizeof(e) for e in elements)


def _is_array(value: Any) -> bool:
    return type(value).__module__.split(".")[0] in ("numpy", "pandas", "torch")


def _elements(value: Any) -> list[Any]:
    """Return the objects in a container, each once, at most so many."""
    if type(value) is dict:
        some: Any = [*value.values()][:_MOST_ELEMENTS]
    elif type(value) in _CONTAINERS:
        some = [*value][:_MOST_ELEMENTS]
    else:
        return []
    return list({id(e): e for e in some}.values())


def _variable(name: str, value: Any, own: int, reaches: int) -> Variable:
    shape = getattr(value, "shape", ()) if _is_array(value) else ()
    shape = tuple(n for n in shape if isinstance(n, int)) if isinstance(shape, tuple) else ()
    dtype = str(getattr(value, "dtype", ""))[:60] if shape else ""
    kind = type(value)
    return Variable(
        name=name,
        type=("" if kind.__module__ == "builtins" else kind.__module__ + ".") + kind.__name__,
        bytes=own,
        reaches=reaches,
        device=0,
        exact=False,
        also=(),
        kind="variable",
        shape=shape,
        dtype=dtype,
        length=shape[0] if shape else None,
        shaped=("%s %s" % (" × ".join(map(str, shape)), dtype)).strip() if shape else "",
        where="",
        before=False,
        execution=0,
        execution_count=None,
        line=0,
        stack=(),
    )
