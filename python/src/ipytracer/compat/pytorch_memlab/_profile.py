"""The decorators, which share one profiler."""

import atexit
from functools import wraps

from ._line_profiler import DEFAULT_COLUMNS, LineProfiler

global_line_profiler = LineProfiler()


def clear_global_line_profiler():
    """Forget the functions that were decorated, and what was collected."""
    global_line_profiler.clear()


def set_target_gpu(gpu_id):
    """Have the columns be of that GPU, as CUDA numbers it, from here on; a torch.device will do, too."""
    global_line_profiler.target_gpu = gpu_id


def _called(func):
    """func, with the profiler on from its first call on: a tracer may come after it was decorated."""
    @wraps(func)
    def call(*args, **kwargs):
        global_line_profiler.enable()
        return func(*args, **kwargs)
    return call


def profile(func, columns=DEFAULT_COLUMNS):
    """Decorator: the lines of func, the most of all calls, printed as the program ends."""
    global_line_profiler.add_function(func)
    atexit.register(lambda: global_line_profiler.print_stats(func, columns))
    return _called(func)


def profile_every(output_interval=1, enable=True, columns=DEFAULT_COLUMNS):
    """Decorator: the same, printed after every so many calls. enable=False leaves the function alone."""
    def decorate(func):
        if not enable:
            return func
        global_line_profiler.add_function(func)
        called, calls = _called(func), [0]

        @wraps(func)
        def run(*args, **kwargs):
            result = called(*args, **kwargs)
            calls[0] += 1
            if calls[0] % output_interval == 0:
                global_line_profiler.print_stats(func, columns)
            return result
        return run
    return decorate
