"""An IPython shell in this process, with readable output."""

import atexit
import os
import sys
import tempfile
import unittest
from unittest import mock

_folder = tempfile.TemporaryDirectory()
atexit.register(_folder.cleanup)
os.environ["IPYTHONDIR"] = _folder.name

from IPython.core.displaypub import CapturingDisplayPublisher  # noqa: E402
from IPython.core.interactiveshell import InteractiveShell  # noqa: E402
from IPython.utils.capture import capture_output  # noqa: E402
from traitlets.config import Config  # noqa: E402

from ipytracer import _api, _lab, _line, _run, _shell  # noqa: E402


def shell():
    config = Config()
    config.HistoryManager.enabled = False
    return InteractiveShell.instance(config=config)


def running():
    """Return the In[N] of the cell that has just run in this thread."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "run_cell" and hasattr(frame.f_locals.get("result"), "execution_count"):
            return frame.f_locals["result"].execution_count
        frame = frame.f_back
    raise AssertionError("no cell has run")


class ShellTest(unittest.TestCase):
    """Each test has a new shell, with nothing loaded and no line."""

    def setUp(self):
        self.patience(20)       # the machine may be busy, and few tests are about waits
        for module in (_api, _lab, _run):
            patch = mock.patch.object(module, "IN_ALL", 60)
            patch.start()
            self.addCleanup(patch.stop)
        self.shell = shell()
        self.shell.reset(new_session=True)
        self.plain = self.shell.display_pub
        self.shell.display_pub = self.published = CapturingDisplayPublisher()
        _line.LINE.close()
        _line.LINE.said = False
        self.addCleanup(self.restore)

    def patience(self, seconds):
        """Set how long this test waits for figures."""
        for module, name in ((_shell, "AFTER_CELL"), (_line, "ASKED_FOR")):
            patch = mock.patch.object(module, name, seconds)
            patch.start()
            self.addCleanup(patch.stop)

    def restore(self):
        self.shell.run_line_magic(
            "unload_ext", "ipytracer"
        ) if "ipytracer" in self.shell.extension_manager.loaded else None
        self.shell.display_pub = self.plain
        _line.LINE.close()

    def run_cell(self, source, **how):
        """Run a cell. Return its displays as text."""
        how.setdefault("store_history", True)
        before = len(self.published.outputs)
        with capture_output(display=False) as printed:
            self.result = self.shell.run_cell(source, **how)
        self.printed = printed.stdout + printed.stderr
        return [out["data"]["text/plain"] for out in self.published.outputs[before:]]

    def load(self):
        return self.run_cell("%load_ext ipytracer")
