"""The cell that runs, by its hashes in a file beside the history: where the kernel dies, the notebook's next kernel
learns by it which cell that was. It exists only while a history is kept and a kernel runs, or after one has died."""

from __future__ import annotations

import hashlib
import os
import re
import stat

from . import _history
from ._key import Key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._history import Place

NOTEBOOK = "JPY_SESSION_NAME"      # Jupyter's variable with the notebook's path
_KEY = re.compile(r"([0-9a-f]{32}) ([0-9a-f]{8})\n")


class LastCell:
    """The file of this notebook, and what is known about the end of its last kernel."""

    def __init__(self) -> None:
        self._path = ""
        self._key: Key | None = None          # of the cell that the last kernel ran
        self._need: int | None = None         # what a report of its death says, in bytes

    def open(self, place: Place) -> None:
        """Read what the last kernel has left, and keep the file from now on. Without a notebook's name there is
        none."""
        name = os.environ.get(NOTEBOOK, "")
        if not name or self._path:
            return
        digest = hashlib.blake2b(os.fsencode(name), digest_size=8).hexdigest()
        self._path = "%s.running-%s" % (place.path, digest)
        try:
            text = _history.read_text(self._path)
        except _history.Unusable:
            self._path = ""
            return
        found = _KEY.fullmatch(text.decode("ascii", "replace")) if text is not None else None
        self._key = Key(found.group(1), found.group(2)) if found is not None else None

    def mark(self, key: Key | None) -> None:
        """Write which cell runs, None for one without a key."""
        if not self._path:
            return
        try:
            number = os.open(
                self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600
            )
        except OSError:
            return
        try:
            seen = os.fstat(number)
            # one with a second name is another file of this user's, which somebody has put here
            if stat.S_ISREG(seen.st_mode) and seen.st_uid == os.geteuid() and seen.st_nlink == 1:
                os.ftruncate(number, 0)
                os.write(number, b"" if key is None else ("%s %s\n" % key).encode())
        except OSError:
            pass
        finally:
            os.close(number)

    def died(self, need: int | None) -> None:
        """Take in what a report says that the cell needed in which the last kernel died; None for no cell."""
        self._need = need

    def take(self) -> tuple[Key, int] | None:
        """Return the cell in which the last kernel died, and what it needed at least: once, when both are known."""
        if self._key is None or self._need is None:
            return None
        found = self._key, self._need
        self._key = self._need = None
        return found

    def close(self) -> None:
        """Delete the file: the kernel ends well, or no history is kept any more."""
        path, self._path = self._path, ""
        if path:
            try:
                os.unlink(path)
            except OSError:
                pass
