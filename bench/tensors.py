#!/usr/bin/env python3
"""Measures the tracer's cost for a tensor on the CPU that is made and freed, torch.empty(2000): CPU time of one
process, bare, with --no-stacks and with lines, in turns, --budget off.

    sudo python3 bench/tensors.py bin/tracer [ROUNDS]
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

LOOP = """
import sys, time, torch
torch.set_num_threads(1)
def once(n=20_000):
    began = time.process_time()
    for _ in range(n):
        torch.empty(2000)
    return (time.process_time() - began) / n * 1e9
for line in sys.stdin:
    print(min(once() for _ in range(3)), flush=True)
"""


def ask(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def attached(tracer, process, ready, *flags):
    trace = subprocess.Popen(
        [tracer, "attach", str(process.pid), "--quiet", "--budget", "off", "--ready-file", ready, *flags],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not os.path.exists(ready):
        if trace.poll() is not None:
            sys.exit("the tracer ended with status %d" % trace.returncode)
        time.sleep(0.02)
    took = ask(process)
    trace.send_signal(signal.SIGINT)
    trace.wait()
    os.remove(ready)
    return took


def main():
    tracer, rounds = sys.argv[1], int((sys.argv[2:] or [6])[0])
    process = subprocess.Popen(
        ["/usr/bin/python3", "-c", LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    ask(process)
    took = {"bare": [], "--no-stacks": [], "with lines": []}
    with tempfile.TemporaryDirectory() as folder:
        ready = os.path.join(folder, "ready")
        for _ in range(rounds):
            took["bare"].append(ask(process))
            took["--no-stacks"].append(attached(tracer, process, ready, "--no-stacks"))
            took["with lines"].append(attached(tracer, process, ready))
    process.stdin.close()
    for name, all_of in took.items():
        print(
            "%-12s %5.2f µs  (%.2f … %.2f)"
            % (name, statistics.median(all_of) / 1e3, min(all_of) / 1e3, max(all_of) / 1e3)
        )


if __name__ == "__main__":
    main()
