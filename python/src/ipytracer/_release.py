"""What gives memory back, and what makes a run repeatable: tracebacks, PyTorch's cache, the seeds of generators.

Nothing here imports NumPy or PyTorch: what a notebook has not loaded holds nothing and draws no numbers.
"""

from __future__ import annotations

import random
import sys
import traceback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._types import Shell

_LAST = ("last_exc", "last_type", "last_value", "last_traceback")
_MOST_SEED = 2**32      # NumPy's take no more
_MOST_CHAINED = 100     # exceptions of one chain


def release_traceback(shell: Shell = None) -> bool:
    """Forget the last exception that IPython has shown, and what the calls in its traceback hold: arrays that a failed
    cell has made, for example.

    %debug has nothing to look at any more. Returns whether there was one.
    """
    error = getattr(sys, "last_value", None) or getattr(sys, "last_exc", None)
    if shell is None:
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython is not None else None
    if error is not None:
        frames(error)
    found = error is not None
    del error
    for name in _LAST:
        if hasattr(sys, name):
            delattr(sys, name)
    for handler in ("InteractiveTB", "SyntaxTB"):
        of = getattr(shell, handler, None)
        for name in ("tb", "etb", "evalue", "etype", "last_syntax_error"):
            if getattr(of, name, None) is not None:
                setattr(of, name, None)
                found = True
    return found


def frames(error: BaseException | None) -> None:
    """Clear what finished calls in the traceback of an exception hold, and in those of the exceptions behind it. Calls
    that run still keep theirs."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen and len(seen) < _MOST_CHAINED:
        seen.add(id(error))
        calls = error.__traceback__
        traceback.clear_frames(calls)
        while calls is not None:
            # Who has shown the traceback has asked for the variables: until Python 3.12 they are in a dict, too, which
            # asking again renews.
            calls.tb_frame.f_locals  # noqa: B018
            calls = calls.tb_next
        error = error.__cause__ or error.__context__


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that there was no memory left: MemoryError, or PyTorch's and CUDA's by their names and
    words."""
    if isinstance(error, MemoryError) or type(error).__name__ in ("OutOfMemoryError", "_ArrayMemoryError"):
        return True
    return isinstance(error, RuntimeError) and "out of memory" in str(error).lower()


def empty_cache() -> bool:
    """Have PyTorch's allocator give back what it keeps of each GPU, if PyTorch is loaded and has used one. Returns
    whether it was."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return False
    cuda.empty_cache()
    return True


def checked(number: int | None) -> int | None:
    """A seed, or None; TypeError or ValueError for what is none."""
    if number is not None and type(number) is not int:
        raise TypeError("a seed is a number, not %s" % type(number).__name__)
    if number is not None and not 0 <= number < _MOST_SEED:
        raise ValueError("a seed is at least 0 and less than 2**32")
    return number


def seed(number: int | None) -> None:
    """Seed the generators of random, and of NumPy and PyTorch (its GPUs too) if they are loaded. Generators that the
    notebook has made itself, such as numpy.random.default_rng(), have seeds of their own."""
    number = checked(number)
    random.seed(number)
    numpy: Any = sys.modules.get("numpy")
    torch: Any = sys.modules.get("torch")
    if hasattr(numpy, "random"):
        numpy.random.seed(number)
    if hasattr(torch, "manual_seed"):
        torch.manual_seed(number)
