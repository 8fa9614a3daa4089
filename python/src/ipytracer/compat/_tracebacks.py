"""Failures that hold no memory: IPython keeps the last traceback, with its frames and their variables."""

from __future__ import annotations

import functools
import gc
import sys
import traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, Literal, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])


def is_in_ipython() -> bool:
    """Report whether this process has an IPython shell."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None


IS_IN_IPYTHON = is_in_ipython()


def release(error: BaseException | None) -> None:
    """Release the variables in the frames of an exception and of those that led to it."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


def clears_frames(func: _Function, when: Callable[[BaseException], bool]) -> _Function:
    """Return func with exceptions that hold no variables where when(exception) is true. The exception stays the same,
    with its message and its traceback."""
    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            return func(*args, **kwargs)
        except BaseException as error:     # an interrupt, too
            if when(error):
                args, kwargs = (), {}
                release(error)
                gc.collect()
            raise
    made: Any = wrapper
    result: _Function = made
    return result


class clear_frames_ctx:
    """A context manager: exceptions raised in it hold no variables but those of the frame that it is in."""

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> Literal[False]:
        if exc_val is not None:
            release(exc_val)
            gc.collect()
        return False
