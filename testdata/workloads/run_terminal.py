#!/usr/bin/env python3
"""Runs the cells in a terminal IPython, typed into a pseudo terminal. See driver.py for the protocol with the caller.

prompt_toolkit announces itself: it switches bracketed paste on when it starts to wait for a cell and off when it has
one. A prompt is there when paste mode is on, "In [N]:" has been painted since, and nothing more comes. Cells are pasted
(so lines are not indented and no completion starts) and sent with Enter; where IPython wants another line first, Enter
is pressed again. With --simple-prompt, input() reads line by line: cells of several plain statements are joined by ";",
those it cannot take as one cell are skipped.
"""

import ast
import errno
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

import driver

PASTE_ON, PASTE_OFF = b"\x1b[?2004h", b"\x1b[?2004l"
WHERE_IS_CURSOR, CURSOR_IS = b"\x1b[6n", b"\x1b[1;1R"
ROWS, COLUMNS = 60, 200

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_()=>][0-9AB]?|\r")
_PROMPT = re.compile(r"In \[(\d+)\]: ?")
_FAILED = re.compile(r"^(?:-{20,}|Traceback \(most recent call last\)|(?:\w+\.)*\w*(?:Error|Exception)\b.*)", re.M)
_INTERRUPTED = re.compile(r"^KeyboardInterrupt\b", re.M)


def plain(raw):
    return _ESCAPES.sub("", raw.decode("utf-8", "replace"))


class Terminal:
    program = ["-m", "IPython"]

    def __init__(self, opts, workspace, versions):
        self.opts, self.workspace = opts, workspace
        self.seen = b""         # everything since the last cell was sent
        self.answered = 0
        settings = ["--no-banner", "--no-confirm-exit", "--no-term-title", "--no-autoindent",
                    "--TerminalInteractiveShell.autoformatter=None"]
        if opts.simple_prompt:
            settings.append("--simple-prompt")
        main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        env = dict(workspace.env, TERM="dumb" if opts.simple_prompt else "xterm", PAGER="cat",
                   LINES=str(ROWS), COLUMNS=str(COLUMNS))
        env.pop("PYTHONSTARTUP", None)
        startup = os.path.join(env["IPYTHONDIR"], "profile_default", "startup")
        os.makedirs(startup)
        with open(os.path.join(startup, "first.py"), "w") as f:
            f.write('__import__("still").register(get_ipython())\n')     # the threads of its prompts: still.py says why
        # A session of its own with the pty as its controlling terminal: Ctrl-C must reach it as a signal.
        self.process = subprocess.Popen(
            workspace.command(*self.program, *settings),
            env=env,
            cwd=workspace.path if not opts.chroot else "/",
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(other)
        self.main, self.pid = main, self.process.pid
        try:
            self.count = self._prompt(opts.timeout)
            if b"startup files" in self.seen:
                raise driver.Failure("cells do not wait: " + plain(self.seen)[-500:].strip())
        except BaseException:
            self.close()
            raise

    # ---- the terminal ----

    def settle(self, seconds):
        """Reads whatever comes within that time, and answers what a terminal must answer."""
        end = time.monotonic() + seconds
        while select.select([self.main], [], [], max(0.0, end - time.monotonic()))[0]:
            try:
                got = os.read(self.main, 65536)
            except OSError as e:
                if e.errno != errno.EIO:
                    raise
                got = b""
            if not got:
                raise driver.Failure("IPython ended: " + plain(self.seen)[-500:].strip())
            self.seen += got
            asked = self.seen.count(WHERE_IS_CURSOR)
            if asked > self.answered:
                self._type(CURSOR_IS * (asked - self.answered))
                self.answered = asked

    def _type(self, raw):
        while raw:
            raw = raw[os.write(self.main, raw[:512]):]
            if raw:
                self.settle(0.002)      # its echo has to go somewhere, or both sides wait for ever

    def _prompt(self, timeout):
        """Waits for the next prompt and returns its number."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            before = len(self.seen)
            self.settle(0.03 * driver.SLOWNESS)
            if len(self.seen) == before:
                number = self._prompt_number()
                if number is not None:
                    return number
        raise driver.Failure("no prompt after %g s; the terminal ends with %r" % (timeout, plain(self.seen)[-300:]))

    def _prompt_number(self):
        raw = self.seen
        if not self.opts.simple_prompt:
            on = raw.rfind(PASTE_ON)
            if on < 0 or raw.rfind(PASTE_OFF) > on:
                return None
            raw = raw[on:]
        found = list(_PROMPT.finditer(plain(raw)))
        if not found or (self.opts.simple_prompt and plain(raw)[found[-1].end():].strip()):
            return None
        return int(found[-1].group(1))

    def shows(self):
        """What has come last, for a message."""
        return repr(plain(self.seen)[-500:].strip())

    # ---- a cell ----

    def run(self, cell, marks):
        source = self._as_typed(cell)
        if source is None:
            return {"skipped": "a simple prompt cannot take these lines as one cell"}
        number, result = self.count, {"source": source}
        self.seen, self.answered = b"", 0
        if self.opts.simple_prompt:
            result["requested_ns"] = driver.now()
            self._type(source.encode() + b"\n")
            self._end_lines()
        else:
            self._type(b"\x1b[200~" + source.encode() + b"\x1b[201~")
            self.settle(0.05)
            result["requested_ns"] = driver.now()
            self._send()
        if "interrupt_at" in cell.request:
            self.workspace.wait_for_mark(cell.request["interrupt_at"], marks, self.opts.timeout, self.settle)
            driver.wait_until_asleep(self.pid, self.opts.timeout, self.settle)      # in the statement behind the mark
            self._type(b"\x03")
        self.count = self._prompt(self.opts.timeout)
        result["idle_ns"] = driver.now()
        result["execution_count"] = number if self.count > number else None
        printed = plain(self._printed())
        result["status"] = (
            "interrupted" if _INTERRUPTED.search(printed) else "error" if _FAILED.search(printed) else "ok"
        )
        if result["status"] != "ok":
            result["error"] = printed.strip()[-200:]
        return result

    def _send(self):
        for _ in range(4):
            self._type(b"\r")
            end = time.monotonic() + 0.7 * driver.SLOWNESS
            while time.monotonic() < end:
                self.settle(0.01)
                if PASTE_OFF in self.seen:
                    return
        raise driver.Failure("IPython does not take it: %r" % plain(self.seen)[-300:])

    def _end_lines(self):
        """Empty lines for as long as a simple prompt asks for more."""
        for _ in range(4):
            self.settle(0.1)
            if not plain(self.seen).rstrip(" ").endswith("...:"):
                return
            self._type(b"\n")

    def _printed(self):
        """What came between the cell and the next prompt; with a simple prompt also the echo of the cell."""
        if self.opts.simple_prompt:
            return self.seen
        begin = self.seen.find(PASTE_OFF)
        return self.seen[begin:self.seen.rfind(PASTE_ON)]

    def _as_typed(self, cell):
        if not self.opts.simple_prompt or "\n" not in cell.source or cell.source.startswith("%%"):
            return cell.source
        try:
            tree = compile(cell.source, "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError:
            return None
        if len(tree.body) == 1:
            return cell.source
        lines = cell.source.split("\n")
        begun = {s.lineno for s in tree.body if isinstance(s, _PLAIN) and s.lineno == s.end_lineno}
        if all(isinstance(s, _PLAIN) for s in tree.body) and len(begun) == len(lines):
            return "; ".join(lines)
        return None

    def close(self):
        try:
            if self.process.poll() is None:
                self._type(b"\x04")
                self.settle(0.3)
        except (driver.Failure, OSError):
            pass
        driver.end_process(self.process, 3)
        os.close(self.main)


_PLAIN = (
    ast.Expr,
    ast.Assign,
    ast.AugAssign,
    ast.AnnAssign,
    ast.Import,
    ast.ImportFrom,
    ast.Delete,
    ast.Pass,
    ast.Assert,
)


if __name__ == "__main__":
    parser = driver.options(__doc__.split("\n")[0])
    parser.add_argument("--simple-prompt", action="store_true", help="IPython without prompt_toolkit")
    sys.exit(driver.drive(parser.parse_args(), "terminal", Terminal))
