"""Further lines below a cell: functions that the extension calls when its own figures have been shown."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ._types import Shell

CALLS: list[Callable[[Shell], None]] = []    # each is called with the shell, after an outermost cell
