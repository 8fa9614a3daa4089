"""Holds objects that have started processes, prints as JSON which by name, and waits for a byte."""
import json
import multiprocessing as mp
import os
import subprocess
import threading
import time
from concurrent.futures import ProcessPoolExecutor

holder = os.getpid()
SLEEP = ["sleep", "60"]  # in another root directory, the interpreter does not know its own file


def end_with_holder():
    while os.getppid() == holder:
        time.sleep(0.1)
    os._exit(0)


def in_child():
    """A child has none of the holder's pipes, and ends when that is killed."""
    for fd in (2, 3, 4):
        os.dup2(nothing, fd)
    threading.Thread(target=end_with_holder, daemon=True).start()


nothing = os.open(os.devnull, os.O_RDWR)
os.register_at_fork(after_in_child=in_child)
context = mp.get_context("fork")
popen = subprocess.Popen(SLEEP, stderr=nothing)
worker = context.Process(target=time.sleep, args=(60,))
worker.start()
wanted = {"popen": ["terminate", [popen.pid]], "worker": ["terminate", [worker.pid]]}
try:
    pool = context.Pool(2)
    wanted["pool"] = ["terminate", [p.pid for p in pool._pool]]
    executor = ProcessPoolExecutor(2, mp_context=context)
    list(executor.map(abs, range(8)))
    wanted["executor"] = ["shutdown", list(executor._processes)]
except (ImportError, OSError):  # this build, or this root directory, has no semaphores
    pass


class Popen:  # another program's, with the name of subprocess's
    pid = 1

    def __init__(self):
        self.pid = 1


class Watched(subprocess.Popen):
    pass


other = Popen()
idle = context.Process(target=time.sleep)  # it was not started
loop = Watched.__new__(Watched)            # it leads to itself
loop._process = [loop, {"x": loop}]
big = Watched.__new__(Watched)
big.pid = 1 << 40
big._child_created = loop._child_created = False
ours = Watched(SLEEP, stderr=nothing)
wanted["ours"] = ["terminate", [ours.pid]]
wanted.update(dict.fromkeys(["other", "idle", "loop", "big"], ["", []]))

if __name__ == "__main__":
    os.write(3, json.dumps(wanted).encode() + b"\n")
    os.read(4, 1)
    for p in (popen, ours, worker):
        p.kill()
    if "pool" in wanted:
        pool.terminate()
        executor.shutdown()
