"""The names that a notebook gains while an experiment runs, and their deletion at its end."""

from __future__ import annotations

import re
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from ..._types import Shell

_RESULT = re.compile(r"_{1,3}|_[0-9]+")
_KEPT = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)


def listed(shell: Shell) -> set[str]:
    """Return the user's own names."""
    hidden = shell.user_ns_hidden
    return {name for name in list(shell.user_ns) if not name.startswith("_") and name not in hidden}


def _resets(shell: Shell) -> bool:
    """Report whether the shell is deleting all names, as by %reset. It fails for a name that is already gone."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "reset" and frame.f_locals.get("self") is shell:
            return True
        frame = frame.f_back
    return False


def delete(shell: Shell, names: set[str], experiments: type) -> tuple[list[str], list[str], list[str]]:
    """Delete names, except modules, functions, classes, and experiments. Return (deleted, failed, kept).

    Out and _ keep the results that cells displayed; those are removed, too, unless an older name has the same value.
    """
    deleted: list[str] = []
    failed: list[str] = []
    kept: list[str] = []
    values: list[Any] = []
    if _resets(shell):
        return deleted, failed, kept
    for name in sorted(names):
        try:
            value = shell.user_ns[name]
        except KeyError:
            continue             # the user has deleted it
        if isinstance(value, experiments):
            continue
        if isinstance(value, _KEPT):
            kept.append(name)
            continue
        try:
            del shell.user_ns[name]
        except Exception:        # a custom namespace
            failed.append(name)
            continue
        deleted.append(name)
        values.append(value)
        del value
    _forget(shell, values)
    return deleted, failed, kept


def _forget(shell: Shell, values: list[Any]) -> None:
    """Remove values from the shell's memory of results, unless a name of the user's has them."""
    still = {id(shell.user_ns.get(name)) for name in listed(shell)}
    gone = {id(value) for value in values} - still
    del values
    for names in (shell.user_ns, shell.user_ns_hidden, shell.user_ns.get("Out")):
        if isinstance(names, dict):      # user_ns_hidden has the values of _ and _N, too
            for name in [
                n
                for n, value in list(names.items())
                if id(value) in gone and (isinstance(n, int) or _RESULT.fullmatch(n))
            ]:
                del names[name]
    for name in ("_", "__", "___"):
        if id(getattr(shell.displayhook, name, None)) in gone:
            setattr(shell.displayhook, name, None)
    last = getattr(shell, "last_execution_result", None)
    if last is not None and id(last.result) in gone:
        last.result = None
