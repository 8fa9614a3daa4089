"""Ways to give memory back, and to make a run repeatable: tracebacks, PyTorch's cache, the seeds of generators.

Nothing here imports NumPy or PyTorch: a library that a notebook has not loaded holds nothing and draws no numbers.
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
_MOST_SEED = 2**32      # NumPy's seeds are smaller
_MOST_CHAINED = 100     # exceptions of one chain


def release_traceback(shell: Shell = None) -> bool:
    """Forget the last exception that IPython has shown, and the variables of the calls in its traceback: arrays of a
    failed cell, for example.

    %debug has nothing to look at afterwards. Return whether there was an exception.
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
    """Clear the variables of finished calls in the traceback of an exception, and in those of the exceptions behind it.
    Calls that still run keep theirs."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen and len(seen) < _MOST_CHAINED:
        seen.add(id(error))
        calls = error.__traceback__
        traceback.clear_frames(calls)
        while calls is not None:
            # Code that has shown the traceback has read the variables: until Python 3.12 they are in a dict, too, which
            # reading them again renews.
            # asking again renews.
            calls.tb_frame.f_locals  # noqa: B018
            calls = calls.tb_next
        error = error.__cause__ or error.__context__


def is_out_of_memory(error: BaseException) -> bool:
    """Report whether an exception says that there was no memory left: MemoryError, or PyTorch's and CUDA's by their
    names and words."""
    if isinstance(error, MemoryError) or type(error).__name__ in ("OutOfMemoryError", "_ArrayMemoryError"):
        return True
    return isinstance(error, RuntimeError) and "out of memory" in str(error).lower()


def empty_cache() -> bool:
    """Have PyTorch's allocator give back the memory that it keeps on each GPU, if PyTorch is loaded and has used one.
    Return whether it has."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return False
    cuda.empty_cache()
    return True


def checked(number: int | None) -> int | None:
    """Return a seed, or None. Raise TypeError or ValueError for an invalid one."""
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
