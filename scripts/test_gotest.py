"""gotest.py on a small module: its output, files and status."""

import contextlib
import os
import subprocess
import sys
import tempfile
import unittest

import gotest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gotest.py")
# first reports whether a test runs for the first time, which it notes in a file.
HEAD = """package %s
import ("os"; "testing")
func first() bool {
	_, err := os.Stat(os.Getenv("FLAG"))
	if err != nil { os.WriteFile(os.Getenv("FLAG"), nil, 0o600) }
	return err != nil
}
var _ = first
"""
TESTS = {
    "fine": """
func TestTrees(t *testing.T) {
	t.Run("here", func(t *testing.T) {})
	t.Run("a tree", func(t *testing.T) { if os.Getenv("TREES") == "" { t.Skip("not there") } })
}
func TestOther(t *testing.T) { if os.Getenv("TREES") == "only" { t.Fatal("it was not asked for") } }
""",
    "flaky": """
func TestFlaky(t *testing.T) {
	if first() { t.Fatal("the first time") }
}
""",
    "bad": 'func TestBad(t *testing.T) { t.Run("inner", func(t *testing.T) { t.Error("what is wrong") }) }\n',
    "panics": 'func TestPanics(t *testing.T) { go func() { panic("out of the blue") }(); select {} }\n',
    "dies": 'func TestDies(t *testing.T) { if first() { panic("the end") } }\n'
    'func TestBehind(t *testing.T) {}\n',
    "shy": """
func TestShy(t *testing.T) {
	if first() { t.Fatal("the first time") }
	t.Skip("not again")
}
""",
    "shier": """
func TestShier(t *testing.T) {
	t.Run("inner", func(t *testing.T) {
		if first() { t.Fatal("the first time") }
		t.Skip("not again")
	})
}
""",
    "empty": 'func TestEmpty(t *testing.T) { t.Run("one/two", func(t *testing.T) { t.Skip("not there") }) }\n',
    "unbuilt": "func TestUnbuilt(t *testing.T) { nothing() }\n",
}


class GoTest(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = held.name
        self.write("go.mod", "module small\n\ngo 1.21\n")
        for name, text in TESTS.items():
            self.write("%s/%s_test.go" % (name, name), HEAD % name + text)

    def write(self, name, text):
        os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
            f.write(text)

    def read(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as f:
            return f.read()

    def gotest(self, *arguments, **env):
        env = {
            **os.environ,
            "GOFLAGS": "",
            "RERUN": "",
            "SKIPPED": "",
            "AGAIN": "",
            "MAY_SKIP": "",
            "COUNTS": os.path.join(self.folder, "counts"),
            "FLAG": os.path.join(self.folder, "flag"),
            **env,
        }
        done = subprocess.run(
            [sys.executable, SCRIPT, *arguments], cwd=self.folder, env=env, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    def test_skipped(self):
        """A skipped test runs alone later, and does not pass if it is skipped once more."""
        kept = os.path.join(self.folder, "kept")
        status, said = self.gotest("-count=1", "./fine", SKIPPED=kept)
        self.assertEqual(
            (status, self.read("kept"), self.read("counts")), (0, "small/fine TestTrees/a_tree\n", "2 0 1\n"), said
        )
        status, said = self.gotest("--skipped", kept, "-count=1", TREES="only")
        self.assertEqual((status, self.read("counts")), (0, "1 0 0\n"), said)
        status, said = self.gotest("--skipped", kept, "-count=1")
        self.assertNotEqual(status, 0)
        self.assertIn("TestTrees/a_tree is skipped, and .ci/may-skip has no reason", said)
        self.write("kept", "small/fine TestGone\n")
        status, said = self.gotest("--skipped", kept, "-count=1")
        self.assertNotEqual(status, 0)
        self.assertIn("TestGone was skipped before, and is not there now", said)

    def test_reasons(self):
        """With MAY_SKIP a test is skipped for that reason and for no other."""
        status, said = self.gotest("-count=1", "./fine", MAY_SKIP="not there")
        self.assertEqual((status, self.read("counts")), (0, "2 0 1\n"), said)
        status, said = self.gotest("-count=1", "./fine", MAY_SKIP="another reason", RERUN="3")
        self.assertNotEqual(status, 0)
        self.assertIn("TestTrees/a_tree is skipped, and .ci/may-skip has no reason", said)

    def test_failures(self):
        for name, shown, rerun in (
            ("bad", "what is wrong", "3"),
            ("panics", "out of the blue", "3"),
            ("unbuilt", "undefined: nothing", "3"),
            ("dies", "the end", "3"),
            ("shy", "the first time", "3"),
            ("shier", "the first time", "3"),
            ("flaky", "the first time", "0"),
        ):
            status, said = self.gotest("-count=1", "./" + name, "./fine", RERUN=rerun)
            self.assertNotEqual(status, 0, said)
            self.assertIn(shown, said)
            self.assertIn("ok  \tsmall/fine", said)
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(self.folder, "flag"))

    def test_counts(self):
        """A test that passed because all tests in it were skipped does not count as passed."""
        status, said = self.gotest("-count=1", "./empty")
        self.assertEqual((status, self.read("counts")), (0, "0 0 1\n"), said)

    def test_slowest(self):
        """A test that contains others is not named, nor is one that takes little time; the slowest comes first."""
        seconds = {("p", "TestA"): 30, ("p", "TestA/one"): 8, ("p", "TestA/two"): 22, ("q", "TestB"): 12}
        seconds["q", "TestC"] = 1
        said = list(gotest.slowest(seconds))
        self.assertEqual([line.split()[-1] for line in said[:-1]], ["TestA/two", "TestB", "TestA/one"])
        self.assertIn("slow:   22.0 s  p TestA/two", said)
        self.assertIn("processors: ", said[-1])
        self.assertEqual(len(list(gotest.slowest({("p", "Test%d" % i): 9 for i in range(40)}))), gotest.SLOWEST + 1)

    def test_again(self):
        again = os.path.join(self.folder, "again")
        status, said = self.gotest("-count=1", "./flaky", RERUN="3", AGAIN=again)
        self.assertEqual((status, self.read("counts")), (0, "1 0 0\n"), said)
        self.assertIn("the first time", said)
        self.assertEqual(self.read("again"), "small/flaky TestFlaky failed once, and passed twice alone\n")

    def test_again_with_race(self):
        """A failure that the race detector finds only now and then is rerun with the race detector."""
        self.write("racy/race_test.go", "//go:build race\n\npackage racy\n\nfunc init() { raced = true }\n")
        self.write("racy/racy_test.go", HEAD % "racy" + """
var raced bool
func TestRacy(t *testing.T) { if raced { t.Fatal("a race") } }
""")
        status, said = self.gotest("-race", "-count=1", "./racy", RERUN="3")
        self.assertNotEqual(status, 0, said)
        self.assertIn("a race", said)


if __name__ == "__main__":
    unittest.main()
