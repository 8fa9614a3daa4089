"""The moment at which a module has been imported."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def when(module: str, imported: Callable[[], None]) -> None:
    """Have a function called when a module has been imported; never if that has been done before."""
    if module not in sys.modules:
        sys.meta_path.insert(0, _Finder(module, imported))


class _Finder:
    """The finder of modules that says when one has been imported; it finds nothing itself."""

    def __init__(self, module: str, imported: Callable[[], None]) -> None:
        self._module, self._imported, self._asking = module, imported, False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the module spec that the other finders have for the module, with a loader that tells us; None for
        every other module."""
        if name != self._module or self._asking:
            return None
        import importlib.util
        self._asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._asking = False
        loader: Any = spec.loader if spec is not None else None
        if loader is None:
            return spec
        execute = loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            self._imported()

        try:
            loader.exec_module = exec_module
        except AttributeError:       # a loader without attributes of its own: cells arm it
            pass
        return spec
