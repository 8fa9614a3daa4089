"""Failures that hold no memory: the frames of a traceback release their variables."""

from __future__ import annotations

from ..._tracebacks import IS_IN_IPYTHON, clear_frames_ctx, clears_frames, is_in_ipython

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])

__all__ = ["IS_IN_IPYTHON", "ipython_tb_clear_frames", "ipython_tb_clear_frames_ctx", "is_in_ipython"]


def ipython_tb_clear_frames(func: _Function) -> _Function:
    """Decorator: in IPython, exceptions of func hold no variables, so %debug sees none. Elsewhere nothing changes."""
    return clears_frames(func, lambda error: IS_IN_IPYTHON)


class ipython_tb_clear_frames_ctx(clear_frames_ctx):
    """The same as a context manager."""
