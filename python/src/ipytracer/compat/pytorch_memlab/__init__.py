"""pytorch_memlab: peaks line by line, the existing tensors, and a way to leave a GPU for a while.

    %load_ext ipytracer.compat.pytorch_memlab
    %mlrun -f train train(model)

It works without CUDA, too: the columns are those of memory then. The differences from the original: docs/migrate.md.
"""

from ._courtesy import Courtesy
from ._line_profiler import LineProfiler
from ._magics import load_ipython_extension, unload_ipython_extension
from ._mem_reporter import MemReporter
from ._profile import clear_global_line_profiler, profile, profile_every, set_target_gpu

__all__ = [
    "Courtesy",
    "LineProfiler",
    "MemReporter",
    "clear_global_line_profiler",
    "load_ipython_extension",
    "profile",
    "profile_every",
    "set_target_gpu",
    "unload_ipython_extension",
]
