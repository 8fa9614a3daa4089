"""The decorators, which share one profiler."""

from __future__ import annotations

import atexit
from functools import wraps

from ._line_profiler import DEFAULT_COLUMNS, LineProfiler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])

global_line_profiler = LineProfiler()


def clear_global_line_profiler() -> None:
    """Forget the decorated functions, and their figures."""
    global_line_profiler.clear()


def set_target_gpu(gpu_id: Any) -> None:
    """Have the columns be of that GPU, as CUDA numbers it, from here on; a torch.device is accepted, too."""
    global_line_profiler.target_gpu = gpu_id


def _called(func: _Function) -> _Function:
    """Return func with the profiler on from its first call on: a tracer may attach after it was decorated."""
    @wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        global_line_profiler.enable()
        return func(*args, **kwargs)
    made: Any = call
    result: _Function = made
    return result


def profile(func: _Function, columns: Iterable[str] = DEFAULT_COLUMNS) -> _Function:
    """Decorator: print the lines of func, the most of all calls, as the program ends."""
    global_line_profiler.add_function(func)
    atexit.register(lambda: global_line_profiler.print_stats(func, columns))
    return _called(func)


def profile_every(
    output_interval: int = 1, enable: bool = True, columns: Iterable[str] = DEFAULT_COLUMNS
) -> Callable[[_Function], _Function]:
    """Decorator: print the lines of func after every so many calls. enable=False leaves the function alone."""
    def decorate(func: _Function) -> _Function:
        if not enable:
            return func
        global_line_profiler.add_function(func)
        called, calls = _called(func), [0]

        @wraps(func)
        def run(*args: Any, **kwargs: Any) -> Any:
            result = called(*args, **kwargs)
            calls[0] += 1
            if calls[0] % output_interval == 0:
                global_line_profiler.print_stats(func, columns)
            return result
        made: Any = run
        printing: _Function = made
        return printing
    return decorate
