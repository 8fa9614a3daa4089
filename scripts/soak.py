#!/usr/bin/env python3
"""Soak: one tracer on a process with children that are IPython shells. They run cells, flood the tracer with
experiments, fork, and are killed at random.

    soak.py TRACER TIME [SEED]          TIME: 90s, 2m, 1h

Every five seconds it reads the tracer's memory. At the end it compares the report with the shells' own notes: a cell
that ended is in the report, or the certificate says that cells or their boundaries were lost. It fails if a cell is
lost without notice, if descriptors of the tracer grow, or if its memory grows by more than PER_WINDOW for each window
and SLACK besides: a session keeps the data of its report. Needs root, IPython and NumPy. Ends by itself: nothing it
starts outlives it.
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

SHELLS = 3
PER_WINDOW = 1 << 10  # bytes
SLACK = 48 << 20      # bytes: garbage, and tables that grow by doubling
DESCRIPTORS = 64      # more than after a quarter of the time

SHELL = r'''
import os, random, sys
from IPython.core.interactiveshell import InteractiveShell
shell, note, seed = InteractiveShell(history_length=0), open(sys.argv[1], "a"), int(sys.argv[2])
shell.history_manager.enabled = False
choose = random.Random(seed)
CELLS = {
    "ordinary": "import numpy as np\na = np.ones(choose.randrange(1, 1 << 20))\n"
                "b = [bytes(9000) for _ in range(50)]\ndel a",
    "fails": "c = bytearray(1 << 20)\n1 / 0",
    "flood": "for i in range(3000):\n    compile('', '<ipytracer:begin flood>', 'exec'); "
             "compile('', '<ipytracer:end flood>', 'exec')",
    "forks": "pids = []\nfor i in range(20):\n    pid = os.fork()\n    if pid == 0:\n        bytearray(1 << 20); "
             "os._exit(0)\n    pids.append(pid)\nfor pid in pids: os.waitpid(pid, 0)",
    "executes": "import subprocess\nsubprocess.run(['true'])",
    "idles": "import time\ntime.sleep(0.2)",
}
shell.user_ns.update(choose=choose, os=os)
sys.stdout = sys.stderr = open(os.devnull, "w")
while True:
    kind = choose.choices(list(CELLS), (60, 5, 2, 10, 5, 20))[0]
    shell.run_cell(CELLS[kind], store_history=True)
    note.write(kind + "\n")
    note.flush()
'''

HERD = r'''
import ctypes, os, random, subprocess, sys, time
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: it ends with the soak
folder, shells, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
choose, running, last = random.Random(seed), [], 0
print("ready", flush=True)
sys.stdin.readline()
def die_too():
    ctypes.CDLL(None).prctl(1, 9)
while True:
    running = [p for p in running if p.poll() is None]
    while len(running) < shells:
        last += 1
        running.append(subprocess.Popen([sys.executable, os.path.join(folder, "shell.py"),
                                         os.path.join(folder, "%d.cells" % last), str(seed + last)],
                                        stdin=subprocess.DEVNULL, preexec_fn=die_too))
        with open(os.path.join(folder, "%d.pid" % last), "w") as f:
            f.write(str(running[-1].pid))
    time.sleep(choose.uniform(1, 6))
    if choose.random() < 0.5:
        choose.choice(running).kill()
'''


def occupied(pid):
    status = open("/proc/%d/status" % pid).read()
    return int(status.split("VmRSS:")[1].split()[0]) << 10, len(os.listdir("/proc/%d/fd" % pid))


def main():
    tracer, seconds = (
        os.path.abspath(sys.argv[1]),
        int(sys.argv[2][:-1]) * {"s": 1, "m": 60, "h": 3600}[sys.argv[2][-1]],
    )
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    print("seed %d" % seed, flush=True)
    with tempfile.TemporaryDirectory(prefix="ipytracer-soak-") as folder:
        return soak(tracer, seconds, seed, folder)


def soak(tracer, seconds, seed, folder):
    for name, text in ("shell.py", SHELL), ("herd.py", HERD):
        open(os.path.join(folder, name), "w").write(text)
    env = dict(os.environ, IPYTHONDIR=os.path.join(folder, "ipython"))
    herd = subprocess.Popen(
        [sys.executable, os.path.join(folder, "herd.py"), folder, str(SHELLS), str(seed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=env,
        start_new_session=True,
    )
    herd.stdout.readline()
    ready, report = os.path.join(folder, "ready"), os.path.join(folder, "report.json")
    tracing = subprocess.Popen(
        [
            tracer,
            "attach",
            "--quiet",
            "--format",
            "json",
            "-o",
            report,
            "--record",
            os.path.join(folder, "soak.arrows"),
            "--ready-file",
            ready,
            str(herd.pid),
        ],
        stderr=open(os.path.join(folder, "words"), "w"),
    )
    try:
        while not os.path.exists(ready):
            if tracing.poll() is not None:
                sys.exit("the tracer has ended: " + open(os.path.join(folder, "words")).read())
            time.sleep(0.05)
        herd.stdin.write(b"go\n"), herd.stdin.flush()
        samples = watch(tracing, seconds, os.path.join(folder, "words"))
        os.killpg(herd.pid, signal.SIGSTOP)  # later cells would be in no report
        tracing.send_signal(signal.SIGINT)
        status = tracing.wait(timeout=300)
    finally:
        os.killpg(herd.pid, signal.SIGKILL)
        tracing.kill(), tracing.wait(), herd.wait()
    return judge(samples, status, report, folder)


def watch(tracing, seconds, words):
    samples, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(min(5, max(0.1, seconds / 40)))
        if tracing.poll() is not None:
            sys.exit("the tracer has ended with status %d: %s" % (tracing.returncode, open(words).read()))
        samples.append(occupied(tracing.pid))
    return samples


def judge(samples, status, report, folder):
    if status != 0:
        sys.exit("the tracer has ended with status %d: %s" % (status, open(os.path.join(folder, "words")).read()))
    r = json.load(open(report))
    cells, windows = {}, r["windows"]
    for w in windows:
        if w["kind"] == "cell":
            cells[w["pid"]] = cells.get(w["pid"], 0) + 1
    ran = missing = shells = 0
    for name in os.listdir(folder):
        if name.endswith(".pid"):
            pid, noted = int(open(os.path.join(folder, name)).read()), os.path.join(folder, name[:-4] + ".cells")
            done = len(open(noted).readlines()) if os.path.exists(noted) else 0
            shells, ran, missing = shells + 1, ran + done, missing + max(0, done - cells.get(pid, 0))
    complete, reasons = r["certificate"]["complete"], r["certificate"].get("incomplete") or []
    warm, last = samples[len(samples) // 4], samples[-1]
    most = max(s[0] for s in samples[len(samples) // 4:])
    bound = warm[0] + SLACK + PER_WINDOW * len(windows)
    print(
        "%d shells, %d cells ended, %d windows of cells, %d windows in all, %d cells without a window"
        % (shells, ran, sum(cells.values()), len(windows), missing)
    )
    print("certificate: %s" % ("complete" if complete else "; ".join(reasons)))
    print(
        "tracer: %.1f MiB after a quarter of the time, %.1f MiB at most, %.1f MiB in the end (bound %.1f MiB); %d, "
        "then %d descriptors"
        % (warm[0] / 2**20, most / 2**20, last[0] / 2**20, bound / 2**20, warm[1], last[1])
    )
    failed = []
    if missing and not any("boundary" in reason or "cell" in reason for reason in reasons):
        failed.append("%d cells are lost, and the certificate has no reason for that" % missing)
    if most > bound:
        failed.append("the tracer's memory grows")
    if last[1] > warm[1] + DESCRIPTORS:
        failed.append("descriptors grow")
    if ran < 10:
        failed.append("hardly anything ran")
    for f in failed:
        print("FAILED: " + f)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
