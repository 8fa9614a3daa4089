"""Runs `go test`, prints its output, and keeps the names of skipped tests.

    gotest.py ARGUMENTS OF go test ...     every test they name. SKIPPED=FILE: the file gets those that were skipped.
    With MAY_SKIP=WORDS a test that was skipped fails, unless it said these words, or .ci/may-skip has it
    gotest.py --skipped FILE ARGUMENTS     these tests alone. One that is skipped again fails, unless .ci/may-skip has
    it

RERUN=N: up to N tests that fail are run again, alone and twice, with -race if that is among the arguments. If they
pass, so does this; their first output stands above, and their names go to the file AGAIN. COUNTS is a file for the
numbers of passed, failed and skipped tests. A failure without the name of a test (a build, a time-out) fails. So does a
panic, behind which no test of its package ran. GO is the go command.

The last lines name the slowest tests. Their seconds exclude the time that a test waits for its turn beside others.
"""

import json
import os
import re
import resource
import subprocess
import sys
import threading
import time

GO = os.environ.get("GO") or "go"
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEATH = ("panic: ", "fatal error: ")  # the beginnings of the Go runtime's last words
NARRATION = ("=== RUN", "=== PAUSE", "=== CONT", "=== NAME")
# `sudo make test` must not look like a user's sudo: what tests write and start belongs to root.
INVOKER = ("SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "PKEXEC_UID", "DOAS_USER")
SLOWEST = 12  # as many tests are named at the end
SLOW = 5  # seconds that each of them takes at least


class Run:
    """One `go test`: its output, test by test."""

    def __init__(self):
        self.status = 0
        self.passed, self.failed, self.skipped = set(), set(), set()  # (package, test), subtests and what contains them
        # packages that failed without the name of a test, or died in one, so that later tests never ran
        self.unnamed = set()
        self.seconds = {}  # of each test
        self.reasons = {}  # what each skipped test said
        self._said, self._running, self._named, self._died = {}, {}, set(), set()

    def run(self, arguments):
        """Returns itself once `go test -json` with these arguments has ended."""
        with subprocess.Popen(
            [GO, "test", "-json", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={name: value for name, value in os.environ.items() if name not in INVOKER},
        ) as process:
            for line in process.stdout:
                try:
                    event = json.loads(line)
                except ValueError:
                    print(line, end="", flush=True)
                    continue
                self._take(event)
        self.status = process.returncode
        return self

    def _take(self, event):
        package, test, action = (
            event.get("Package", event.get("ImportPath", "")),
            event.get("Test", ""),
            event["Action"],
        )
        key = package, test
        if action == "build-output":
            print(event["Output"], end="", flush=True)
        elif action == "output":
            if event["Output"].startswith(DEATH):
                self._died.add(package)
            if not event["Output"].startswith(NARRATION):
                self._said.setdefault(key, []).append(event["Output"])
        elif action == "run":
            self._running[key] = True
        elif action in ("pass", "fail", "skip") and test:
            self._running.pop(key, None)
            self.seconds[key] = event.get("Elapsed", 0)
            {"pass": self.passed, "fail": self.failed, "skip": self.skipped}[action].add(key)
            said = self._said.pop(key, [])
            if action == "skip":
                self.reasons[key] = "".join(said)
            if action == "fail":
                self._named.add(package)
                print("".join(said), end="", flush=True)
        elif action in ("pass", "fail", "skip"):
            self._ended(package, action)

    def _ended(self, package, action):
        """Takes in the end of a package: of one that passed the last line is enough."""
        said = self._said.pop((package, ""), [])
        if action != "fail":
            said = [line for line in said if line.startswith(("ok  \t", "?   \t"))]
            print("".join(said), end="", flush=True)
            return
        unfinished = [key for key in self._running if key[0] == package]
        for key in unfinished:
            print("unfinished: %s\n%s" % (key[1], "".join(self._said.pop(key, [])[-400:])), end="")
            self._running.pop(key)
        if unfinished or package in self._died or package not in self._named:
            self.unnamed.add(package)
        print("".join(said), end="", flush=True)


def leaves(keys, others=()):
    """Returns the tests among keys that contain no other of keys, or of others."""
    inner = {(package, test[:at]) for package, test in [*keys, *others] for at, c in enumerate(test) if c == "/"}
    return sorted(key for key in keys if key not in inner)


def pattern(tests):
    """Returns the pattern for -run that selects these tests and no others."""
    return "|".join("/".join("^%s$" % re.escape(part) for part in test.split("/")) for test in tests)


def may_skip(path):
    """Returns rows of a file: the end of a package's path, a pattern of tests. The rest of a row is the reason."""
    rows = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                package, test = line.split(None, 2)[:2]
                rows.append((package, re.compile(test)))
    return rows


def allowed(rows, package, test):
    return any((package == end or package.endswith("/" + end)) and row.fullmatch(test) for end, row in rows)


def refuse(run, reasons):
    """Marks the packages of skipped tests that have none of these reasons, and no row of .ci/may-skip, as failed."""
    rows = may_skip(os.path.join(ROOT, ".ci", "may-skip"))
    for package, test in leaves(run.skipped):
        reason = reasons.get((package, test), "")
        if not allowed(rows, package, test) and (os.environ.get("MAY_SKIP") or "\0") not in reason:
            print("gotest: %s %s is skipped, and .ci/may-skip has no reason for that" % (package, test))
            run.unnamed.add(package)
    if run.unnamed:
        run.status = run.status or 1


def only(path, arguments):
    """Runs the tests of a file, those of e2e beside the others: they wait more than they compute."""
    packages = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            package, test = line.split(None, 1)
            packages.setdefault(package, []).append(test.strip())
    runs, asked = [], [(package, test) for package, tests in packages.items() for test in tests]

    def some(those):
        for package in those:
            runs.append(Run().run([*arguments, "-run", pattern(packages[package]), package]))

    beside = threading.Thread(target=some, args=([p for p in packages if not p.endswith("/e2e")],))
    beside.start()
    some([p for p in packages if p.endswith("/e2e")])
    beside.join()
    whole = Run()
    whole.status = max([r.status for r in runs], default=0)
    for name in ("passed", "failed", "skipped", "unnamed"):
        for r in runs:
            getattr(whole, name).update(getattr(r, name))
    for r in runs:
        whole.seconds.update(r.seconds)
    for package, test in asked:
        if not any((package, test) in had for had in (whole.passed, whole.failed, whole.skipped)):
            print("gotest: %s %s was skipped before, and is not there now" % (package, test))
            whole.unnamed.add(package)
    refuse(whole, {})
    return whole


def again(run, most, arguments):
    """Runs failed tests once more, alone and twice. Returns the exit status."""
    kept = [a for a in arguments if a == "-race"]
    tests = sorted({(package, test.split("/", 1)[0]) for package, test in run.failed})
    if run.unnamed or not tests or len(tests) > most:
        if most:
            print("gotest: not run again: %s" % ", ".join([t for _, t in tests] + sorted(run.unnamed)))
        return run.status
    for package, test in tests:
        second = Run().run([*kept, "-count=2", "-timeout", "20m", "-run", "^%s$" % test, package])
        wanted = {key for key in run.failed if key[0] == package and key[1].split("/", 1)[0] == test}
        if second.status or not wanted <= second.passed - second.failed - second.skipped:
            print(
                "gotest: run again, not each of these passed twice: %s" % ", ".join(sorted(name for _, name in wanted))
            )
            return second.status or 1
        run.passed |= wanted
    print("gotest: FAILED ONCE, and passed twice alone. Each is a bug, of the product or of the test:")
    for package, test in tests:
        print(package, test)
        note("%s %s failed once, and passed twice alone" % (package, test))
    run.failed.clear()
    return 0


def slowest(seconds):
    """Returns lines about the slowest tests, and about all processors' time: without much of it, tests have waited."""
    slow = [key for key in leaves(seconds) if seconds[key] >= SLOW]
    for key in sorted(slow, key=seconds.get, reverse=True)[:SLOWEST]:
        yield "slow: %6.1f s  %s %s" % (seconds[key], *key)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    yield "processors: %.0f s in programs, %.0f s in the kernel" % (used.ru_utime, used.ru_stime)


def note(line):
    """Keeps the names of tests that ran a second time, for the last lines of CI."""
    if os.environ.get("AGAIN"):
        with open(os.environ["AGAIN"], "a", encoding="utf-8") as f:
            f.write(line + "\n")


def main(arguments):
    began = time.monotonic()
    if arguments[:1] == ["--skipped"]:
        run = only(arguments[1], arguments[2:])
    else:
        run = Run().run(arguments)
        if os.environ.get("SKIPPED"):
            with open(os.environ["SKIPPED"], "w", encoding="utf-8") as f:
                f.writelines("%s %s\n" % key for key in leaves(run.skipped))
        if os.environ.get("MAY_SKIP"):
            refuse(run, run.reasons)
    status = run.status and again(run, int(os.environ.get("RERUN") or 0), arguments)
    sys.stdout.flush()
    for line in slowest(run.seconds):
        print(line)
    # A passed test with tests in it, even skipped ones, has shown nothing itself.
    counts = [len(leaves(run.passed, run.failed | run.skipped)), len(leaves(run.failed)), len(leaves(run.skipped))]
    print("%d passed, %d failed, %d skipped in %.2fs" % (*counts, time.monotonic() - began), flush=True)
    if os.environ.get("COUNTS"):
        with open(os.environ["COUNTS"], "w", encoding="utf-8") as f:
            print(*counts, file=f)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
