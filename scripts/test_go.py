"""go.sh under a simulated sudo: the users that may provide the Go, and how long go.sh waits."""

import contextlib
import os
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "go.sh")
ROOT = os.getuid() == 0
GID = 54321 if ROOT else os.getgid()  # a group that is not root's
GO = "#!/bin/sh\necho go version go%s linux/amd64\n"
STUBS = {
    "go": GO % "1.2",  # one that does not serve is on root's PATH
    "runuser": '#!/bin/sh\nshift 3\nexec "$@"\n',
    "id": '#!/bin/sh\ncase $* in "-u") echo 0 ;; "-u ada") echo %d ;; "-g ada") echo %d ;; *) echo ada ;; esac\n'
          % (os.getuid(), GID),
    "getent": """#!/bin/sh
case $* in
"passwd ada") echo "ada:x:1:%d::$PLAYED:/bin/bash" ;; "group %d") echo "$GROUP" ;; passwd) echo "$OTHERS" ;;
*) exit 2 ;;
esac
""" % (GID, GID),
}


class Go(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.home = held.name
        for name, text in {
            **{"stubs/" + name: text for name, text in STUBS.items()},
            "hers/bin/go": GO % "1.99",
        }.items():
            self.write(name, text, 0o755)
        self.profile("")

    def write(self, name, text, mode=0o644):
        path = os.path.join(self.home, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)

    def profile(self, more):
        self.write(".bash_profile", "%s\nPATH=$HOME/hers/bin:$PATH\n" % more)

    def found(self, group="ada:x:%d:" % GID, others="root:x:0:0::/root:/bin/sh"):
        """Returns the folder that go.sh prints, or none. It fails here if something blocks go.sh."""
        env = {
            "PATH": os.path.join(self.home, "stubs") + ":/usr/bin:/bin",
            "SUDO_USER": "ada",
            "PLAYED": self.home,
            "HOME": os.path.join(self.home, "none"),
            "GO_DIR": os.path.join(self.home, "none"),
            "GROUP": group,
            "OTHERS": others,
        }
        done = subprocess.run(
            [SCRIPT], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=60
        )
        return done.stdout.strip() == os.path.join(self.home, "hers", "bin")

    def test_shell(self):
        """A process that the user's shell leaves behind has the shell's output open; go.sh does not wait for it."""
        self.assertTrue(self.found())
        fifo = os.path.join(self.home, "fifo")
        os.mkfifo(fifo)
        self.addCleanup(self.let, fifo)
        self.profile("(read -r _ <$HOME/fifo) &")
        self.assertTrue(self.found())
        self.profile("echo /not/this/go; yes & trap '' TERM")
        self.assertTrue(self.found())

    def let(self, fifo):
        with contextlib.suppress(OSError):
            os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))

    def test_writers(self):
        """A user with write access to a folder of her own Go can put another Go there, which root would run."""
        folder = os.path.join(self.home, "hers")
        os.chown(folder, -1, GID)
        for mode, group, others, served in (
            (0o775, "ada:x:%d:" % GID, "", True),
            (0o775, "ada:x:%d:ada" % GID, "ada:x:1:%d::/:/bin/sh" % GID, True),
            (0o2775, "devs:x:%d:ada,bob" % GID, "", False),
            (0o775, "ada:x:%d:bob" % GID, "", False),
            (0o775, "ada:x:%d:" % GID, "bob:x:2:%d::/:/bin/sh" % GID, False),
            (0o2755, "devs:x:%d:ada,bob" % GID, "", True),
            (0o1777, "devs:x:%d:ada,bob" % GID, "", True),
            (0o757, "ada:x:%d:" % GID, "", False),
        ):
            os.chmod(folder, mode)
            self.assertEqual(self.found(group, others), served, (oct(mode), group, others))
        if ROOT:
            os.chown(folder, -1, 0)
            os.chmod(folder, 0o775)
            self.assertTrue(self.found("root:x:0:"))
        os.chmod(folder, 0o755)
        os.chmod(os.path.join(folder, "bin", "go"), 0o1757)
        self.assertFalse(self.found(), "a file is not as /tmp")


if __name__ == "__main__":
    unittest.main()
