#!/usr/bin/env python3
"""Makes the picture of one minute, docs/pictures/one-minute.svg: a real session in a terminal, and then JupyterLab.

    sudo python3 scripts/one_minute.py bin/tracer docs/pictures

A kernel runs the cells of scripts/demo.py. `tracer attach` follows it in a terminal of its own, and what it writes is
kept with its times. The frames of JupyterLab are the pictures of `make test-lab`, in that folder. Waits are shortened;
nothing else is changed. A reader who wants no motion sees the end of the terminal's part.
"""

import base64
import html
import os
import pty
import re
import select
import signal
import sys
import tempfile
import time

from jupyter_client.manager import start_new_kernel

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import demo  # noqa: E402

COLUMNS, ROWS = 110, 26
WIDTH, LINE, TOP, LEFT = 960, 18, 44, 16        # pixels
HEIGHT = TOP + ROWS * LINE + 16
SECONDS, TERMINAL = 60.0, 38.0                  # of the whole; of the terminal's part
LONGEST = 1.6                                   # s that a wait may take in the picture
FRAMES = (
    ("lab-before.png", "JupyterLab: what each cell needed the last time, before it runs"),
    ("lab-light.png", "JupyterLab: the figures of each cell, and the session"),
    ("lab-objects.png", "JupyterLab: variables, and what stays behind"),
)
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b-\x1f\x7f]")


class Terminal:
    """A program in a terminal: its lines, and when each was there."""

    def __init__(self, command):
        self.began = time.monotonic()
        self.pid, self.end = pty.fork()
        if self.pid == 0:
            os.environ.update(TERM="dumb", NO_COLOR="1", COLUMNS=str(COLUMNS), LINES=str(ROWS))
            os.execvp(command[0], command)
        self.lines, self.left = [], ""

    def read(self, seconds):
        """Take in what the program writes for so long; False once it has ended."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not select.select([self.end], [], [], 0.05)[0]:
                continue
            try:
                data = os.read(self.end, 65536)
            except OSError:
                return False
            if not data:
                return False
            *whole, self.left = (self.left + data.decode("utf-8", "replace")).replace("\r\n", "\n").split("\n")
            now = time.monotonic() - self.began
            self.lines += [(now, CONTROL.sub("", line.rsplit("\r", 1)[-1])) for line in whole]
        return True


def session(tracer):
    """Return the lines of a session with their times: the prompts, and what the tracer wrote."""
    with tempfile.TemporaryDirectory() as folder:
        manager, client = start_new_kernel(kernel_name="python3", cwd=folder)
        try:
            pid = manager.provisioner.pid
            terminal = Terminal([tracer, "attach", str(pid), "--ready-file", os.path.join(folder, "ready")])
            while not os.path.exists(os.path.join(folder, "ready")):
                if not terminal.read(0.1):
                    sys.exit("one_minute: the tracer does not begin:\n%s" % terminal.lines)
            for cell in demo.CELLS:
                client.execute(cell)
                client.get_shell_msg(timeout=120)
                terminal.read(0.4)
            os.kill(terminal.pid, signal.SIGINT)
            pressed = time.monotonic() - terminal.began
            while terminal.read(1):
                pass
            os.waitpid(terminal.pid, 0)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
    before = [(0.0, "$ sudo tracer attach %d" % pid)] + [one for one in terminal.lines if one[0] < pressed]
    after = [one for one in terminal.lines if one[0] >= pressed]
    return before + [(pressed, "^C")] + after


def wrapped(lines):
    """Return lines as a terminal shows them: none is longer than it is wide."""
    for when, line in lines:
        for at in range(0, max(len(line), 1), COLUMNS):
            yield when, line[at:at + COLUMNS]


def paced(lines):
    """Return (seconds, line) with shortened waits: what came at once is read page by page."""
    found, now, before = [], 1.0, None
    at_once = 0
    for when, line in lines:
        at_once = at_once + 1 if before is not None and when - before < 0.05 else 0
        now += min(LONGEST, when - before) if before is not None and not at_once else 0.0
        now += 4.0 if at_once and at_once % (ROWS - 6) == 0 else 0.0
        found.append((now, line))
        before = when
    end = found[-1][0] + 4.0
    return [(when * TERMINAL / end, line) for when, line in found if line is not None]


def keyframes(name, *steps):
    """Return an animation of steps: (second, declarations)."""
    inner = "".join("%.2f%%{%s}" % (100 * when / SECONDS, what) for when, what in steps)
    return "@keyframes %s{%s}" % (name, inner)


def picture(lines, folder):
    """Return the picture as SVG."""
    style, text = [], []
    for number, (when, line) in enumerate(lines):
        style.append(keyframes("l%d" % number, (0, "opacity:0"), (when, "opacity:1"), (SECONDS, "opacity:1")))
        bold = ' class="p"' if line.startswith(("$ ", "^C")) else ""
        text.append(
            '<text%s y="%d" style="animation-name:l%d">%s</text>'
            % (bold, (number + 1) * LINE, number, html.escape(line))
        )
    scrolls = [(0.0, "transform:translateY(0)")]
    for number, (when, _) in enumerate(lines):
        if number + 1 > ROWS:
            scrolls.append((when, "transform:translateY(%dpx)" % (-(number + 1 - ROWS) * LINE)))
    last = scrolls[-1][1]
    style.append(keyframes("scroll", *scrolls, (SECONDS, last)))
    style.append(keyframes("term", (0, "opacity:1"), (TERMINAL, "opacity:0"), (SECONDS, "opacity:0")))
    frames, each = [], (SECONDS - TERMINAL) / len(FRAMES)
    for number, (name, caption) in enumerate(FRAMES):
        begins = TERMINAL + number * each
        ends = [(begins + each, "opacity:0")] if begins + each < SECONDS - 0.01 else []
        style.append(keyframes("f%d" % number, (0, "opacity:0"), (begins, "opacity:1"), *ends))
        with open(os.path.join(folder, name), "rb") as file:
            data = base64.b64encode(file.read()).decode()
        frames.append(
            '<g class="f" style="animation-name:f%d"><rect width="%d" height="%d" fill="#fff"/>'
            '<text x="%d" y="28" class="c">%s</text>'
            '<image x="0" y="%d" width="%d" height="%d" href="data:image/png;base64,%s"/></g>'
            % (number, WIDTH, HEIGHT, LEFT, html.escape(caption), TOP, WIDTH, HEIGHT - TOP, data)
        )
    said = "A terminal: tracer attach follows a kernel, prints a line for each cell, and the report. Then " + "; ".join(
        caption for _, caption in FRAMES
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %(w)d %(h)d" width="%(w)d" height="%(h)d" role="img">'
        "<title>%(said)s</title><style>"
        "text{font:13.2px 'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#d8dee9;white-space:pre}"
        ".p{font-weight:bold;fill:#a3d39c}.c{font:16px sans-serif;fill:#222}"
        ".t text,.s,.term,.f{animation:%(seconds)ds step-end infinite}.s{animation-name:scroll}"
        ".term{animation-name:term}.f{opacity:0}"
        "@media (prefers-reduced-motion:reduce){.t text,.term,.f{animation:none}.s{animation:none;%(last)s}}"
        "%(style)s</style>"
        '<rect width="%(w)d" height="%(h)d" rx="8" fill="#20242c"/>'
        '<clipPath id="k"><rect x="0" y="%(top)d" width="%(w)d" height="%(rows)d"/></clipPath>'
        '<g class="term"><text x="%(left)d" y="28">a terminal</text><g clip-path="url(#k)">'
        '<g transform="translate(%(left)d %(above)d)"><g class="s"><g class="t">%(text)s</g></g></g></g></g>'
        "%(frames)s</svg>\n"
    ) % dict(
        w=WIDTH, h=HEIGHT, said=html.escape(said), seconds=SECONDS, style="".join(style), top=TOP, rows=ROWS * LINE + 8,
        left=LEFT, above=TOP - 4, text="".join(text), frames="".join(frames), last=last,
    )


def main():
    tracer, folder = sys.argv[1:]
    lines = paced(list(wrapped(session(tracer))))
    with open(os.path.join(folder, "one-minute.svg"), "w", encoding="utf-8") as file:
        file.write(picture(lines, folder))
    print("%d lines of a terminal, %d frames" % (len(lines), len(FRAMES)))


if __name__ == "__main__":
    main()
