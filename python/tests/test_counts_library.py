import os
import shutil
import subprocess
import tempfile
import unittest

from . import counting

_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counts_life.c")
_SCRIPT = os.path.join(counting.ROOT, "scripts", "counts.sh")
_ARM = "aarch64-linux-gnu-gcc", "qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"


class Library(unittest.TestCase):
    """The library in programs without Python (counts_life.c), for each way to find a block's size and to add."""

    def lives(self, compiler, *through, builds=None, chunks=(0, 1)):
        """Compile the program, and run it through an emulator. builds: another compiler, for the library."""
        for tool in (compiler, builds or compiler, *through[:1]):
            if shutil.which(tool) is None:
                self.skipTest("no " + tool)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([_SCRIPT, folder], env=dict(os.environ, CC=builds or compiler), check=True)
            library, = os.listdir(folder)
            program = os.path.join(folder, "life")
            flags = "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"
            subprocess.run([compiler, *flags, "-o", program, _PROGRAM, "-ldl"], check=True)
            for alone in (1, 0):
                for chunk in chunks:
                    with self.subTest(alone=alone, chunks=chunk):
                        done = subprocess.run(
                            [*through, program, os.path.join(folder, library), str(alone), str(chunk)],
                            capture_output=True, text=True, timeout=300, check=False)
                        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_glibc(self):
        self.lives("gcc")

    def test_musl(self):
        self.lives("musl-gcc", chunks=(0,))

    def test_file_of_glibc_in_musl(self):
        """One file works with both."""
        self.lives("musl-gcc", builds="gcc", chunks=(0,))

    def test_arm64(self):
        self.lives(*_ARM)
