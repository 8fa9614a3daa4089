"""Notebooks with planted leaks. healthy.py has those without, followed.py these after the advice was taken;
notebooks.py says what they are made of."""

from notebooks import (
    AFTER,
    GROWTH,
    MIB,
    OUTPUT,
    TRACEBACK,
    Leak,
    Notebook,
    Step,
    collected_traceback,
    reference_cycle,
    stolen_reference,
    waiting_thread,
)

IMPORTS = Step("""
    import asyncio, collections, ctypes, functools, gc, json, os, subprocess, sys, threading, time, types
    import numpy as np
    def block(n):
        return np.ones(n, dtype=np.uint8)
    """)


def size(number):
    """A size in bytes that no other leak has."""
    return 2 * MIB + number * 4096


def mapped(n):
    """What glibc's malloc maps for a bytes object of n: more than 32 MiB always has a mapping of its own, of whole
    pages."""
    chunk = (n + 33 + 8 + 15) // 16 * 16
    return (chunk + 8 + 4095) // 4096 * 4096


LEAKS = [
    Notebook("list", [Step("acc = []"), Step("acc.append(block(%d))  # leaks" % size(1), 4)],
             [Leak(GROWTH, 4 * size(1), 4)]),
    Notebook("dict_in_helper", [
        Step("""
            results = {}
            def remember(key):
                value = block(%d)  # leaks
                results[key] = value
                return value.sum()
            """ % size(2)),
        Step("total = remember(len(results))", 3)], [Leak(GROWTH, 3 * size(2), 3, "remember")]),
    Notebook("class_registry", [
        Step("""
            class Model:
                instances = []
                def __init__(self):
                    self.weights = block(%d)  # leaks
                    Model.instances.append(self)
            """ % size(3)),
        Step("model = Model()", 4)], [Leak(GROWTH, 4 * size(3), 4, "__init__")]),
    Notebook("closure", [
        Step("""
            def counter():
                history = []
                def step():
                    history.append(block(%d))  # leaks
                    return len(history)
                return step
            step = counter()
            """ % size(4)),
        Step("n = step()", 3)], [Leak(GROWTH, 3 * size(4), 3, "step")]),
    Notebook("default_argument", [
        Step("""
            def collect(seen=[]):
                seen.append(block(%d))  # leaks
                return len(seen)
            """ % size(5)),
        Step("n = collect()", 5)], [Leak(GROWTH, 5 * size(5), 5, "collect")]),
    Notebook("lru_cache", [
        Step("""
            @functools.lru_cache(maxsize=None)
            def load(day):
                return block(%d)  # leaks
            day = 0
            """ % size(6)),
        Step("day += 1\nmean = load(day).mean()", 4)], [Leak(GROWTH, 4 * size(6), 4, "load")]),
    Notebook("callbacks", [
        Step("handlers = collections.defaultdict(list)\ndef on_done(data, event): return data.sum()"),
        Step("handlers['done'].append(functools.partial(on_done, block(%d)))  # leaks" % size(7), 3)],
             [Leak(GROWTH, 3 * size(7), 3)]),
    Notebook("views_of_large_arrays", [
        Step("heads = []"),
        Step("""
            def head():
                whole = block(%d)  # leaks
                return whole[:10]
            heads.append(head())
            """ % size(8), 4)], [Leak(GROWTH, 4 * size(8), 4, "head")]),
    Notebook("object_array", [
        Step("slots = np.empty(100, dtype=object)\nused = 0"),
        Step("slots[used] = block(%d)  # leaks\nused += 1" % size(9), 3)], [Leak(GROWTH, 3 * size(9), 3)]),
    Notebook("deque_without_bound", [
        Step("recent = collections.deque()"),
        Step("recent.append((time.time(), block(%d)))  # leaks" % size(10), 4)], [Leak(GROWTH, 4 * size(10), 4)]),
    Notebook("generators_that_wait", [
        Step("""
            def reader():
                chunk = block(%d)  # leaks
                while True:
                    yield chunk[0]
            readers = []
            """ % size(11)),
        Step("r = reader()\nfirst = next(r)\nreaders.append(r)", 3)], [Leak(GROWTH, 3 * size(11), 3, "reader")]),
    Notebook("log_records", [
        Step("""
            import logging
            class Keep(logging.Handler):
                def __init__(self):
                    super().__init__()
                    self.records = []
                def emit(self, record):
                    self.records.append(record)
            logger = logging.getLogger("leaks")
            logger.addHandler(Keep())
            logger.propagate = False
            """),
        Step("batch = block(%d)  # leaks\nlogger.warning('batch %%s', batch)\ndel batch" % size(12), 3)],
             [Leak(GROWTH, 3 * size(12), 3)]),
    Notebook("output_once", [Step("block(%d)  # leaks" % size(13))], [Leak(OUTPUT, size(13), 1)]),
    Notebook("output_of_each_run", [Step("np.sqrt(block(%d))[:3]  # leaks" % size(14), 3)],
             [Leak(OUTPUT, 3 * 2 * size(14), 3)]),
    Notebook("output_in_an_object", [
        Step("""
            class Result:
                def __init__(self, data):
                    self.data = {"values": [data]}
            def evaluate():
                return Result(block(%d))  # leaks
            """ % size(15)),
        Step("evaluate()")], [Leak(OUTPUT, size(15), 1, "evaluate")]),
    Notebook("output_and_deleted", [Step("frame = block(%d)  # leaks\nframe" % size(16)), Step("del frame")],
             [Leak(OUTPUT, size(16), 1)]),
    Notebook("module_cache", [
        Step("""
            helpers = types.ModuleType("helpers")
            sys.modules["helpers"] = helpers
            exec('''
            _cache = {}
            def fetch(make):
                _cache[len(_cache)] = make()
            '''.replace("\\n            ", "\\n"), helpers.__dict__)
            """),
        Step("helpers.fetch(lambda: block(%d))  # leaks" % size(17)), Step("del helpers")],
             [Leak(AFTER, size(17), 1, "<lambda>")]),
    Notebook("attribute_of_a_library", [Step("json.last_payload = block(%d)  # leaks" % size(18))],
             [Leak(AFTER, size(18), 1)]),
    waiting_thread(size(19), "cpu.numpy"),
    stolen_reference(size(20), "cpu.numpy"),
    # More than a second after its cell's end and before the next one's begin, also where the machine is busy.
    Notebook("freed_by_a_timer", [
        Step("""
            def later(data):
                data[0] = 0
            timer = threading.Timer(2.5, later, [block(%d)])  # leaks
            timer.start()
            del timer
            """ % size(21), pause=4)], [Leak("freed-late", size(21), 1)]),
    Notebook("process_that_stays", [Step("child = subprocess.Popen(['sleep', '1000'])  # leaks")],
             [Leak("child-alive", None, 1, meter="cpu.resident", says="sleep 1000")]),
    Notebook("forked_worker", [
        Step("""
            pid = os.fork()  # leaks
            if pid == 0:
                time.sleep(1000)
                os._exit(0)
            """)], [Leak("child-alive", None, 1, meter="cpu.resident", says="ipykernel_launcher")]),
    Notebook("pool_that_stays", [
        Step("""
            import multiprocessing
            pool = multiprocessing.get_context("fork").Pool(2)  # leaks
            squares = pool.map(abs, range(4))
            """)], [Leak("idle-pool", None, 2, meter="cpu.resident", says="multiprocessing.Pool")]),
    Notebook("executor_that_stays", [
        Step("""
            import concurrent.futures, multiprocessing
            executor = concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork"))
            squares = list(executor.map(abs, range(4)))  # leaks
            """)], [Leak("idle-pool", None, 2, meter="cpu.resident", says="ProcessPoolExecutor")]),
    Notebook("bytes_in_a_list", [Step("blobs = []"), Step("blobs.append(bytes(40_000_000))  # leaks", 4)],
             [Leak(GROWTH, 4 * mapped(40_000_000), 4, meter="cpu.mapped")]),
    Notebook("small_objects", [Step("rows = []"), Step("rows.extend([str(i) for i in range(300_000)])  # leaks", 5)],
             [Leak(GROWTH, None, None, meter="cpu.mapped", exact=False)]),
    # From here on the order matters: an exception drops the traceback of the one before, an exception's frames may have
    # much.
    collected_traceback(size(26), "cpu.numpy"),
    Notebook("traceback_dropped_by_the_next", [
        Step("""
            def train():
                activations = block(%d)  # leaks
                raise ValueError("bad batch")
            train()
            """ % size(22), fails=True),
        Step("1"), Step("undefined_name", fails=True)], [Leak(TRACEBACK, size(22), 1, "train")]),
    Notebook("traceback_of_the_last", [
        Step("""
            def inner(data):
                scaled = data * 2
                raise RuntimeError("bad inner")
            def outer():
                inner(np.zeros(10, dtype=np.uint8).repeat(%d))  # leaks
            """ % (size(23) // 10)),
        Step("outer()", fails=True)], [Leak(TRACEBACK, size(23) // 10 * 20, 2, "outer")]),
    reference_cycle(size(24), "cpu.numpy"),
    # numexpr keeps memory that it did not clear, in which the address of the array is left: that is no reference.
    Notebook("cycle_beside_stale_words", [
        Step("""
            class Leaf:
                pass
            def bush():
                root, leaf = Leaf(), Leaf()
                root.leaf, leaf.root = leaf, root
                leaf.data = block(%d)  # leaks
                pieces = [[leaf.data] * n for n in range(600, 8000, 37)]
            bush()
            try:
                import numexpr
                ten = np.ones(10)
                for i in range(200):
                    x = numexpr.evaluate("sin(ten) * %%d + cos(ten) * ten + 1" %% i)
            except ImportError:
                pass
            """ % size(25))], [Leak(AFTER, size(25), 1, "bush", says="reference cycle")]),
]

# Needs joblib.
JOBLIB = [
    Notebook("joblib", [
        Step("""
            from joblib import Parallel, delayed
            squares = Parallel(n_jobs=2)(delayed(abs)(i) for i in range(4))  # leaks
            """)], [Leak("idle-pool", None, 2, meter="cpu.resident", says="joblib")]),
]

# What Out[], a module, the last exception and a cycle hold beside a hundred thousand small arrays, before and after.
MANY = Step("""
    for i in range(100_000):
        small = np.ones(20)
    for i in range(100_000):
        large = np.ones(200)
    """)

CROWD = [
    Notebook("many", [MANY]),
    Notebook("output_in_a_crowd", [Step("block(%d)  # leaks" % size(31))], [Leak(OUTPUT, size(31), 1)]),
    Notebook("library_in_a_crowd", [Step("json.last_crowd = block(%d)  # leaks" % size(32))],
             [Leak(AFTER, size(32), 1)]),
    Notebook("cycle_in_a_crowd", [
        Step("""
            class Node:
                pass
            def tree():
                root, leaf = Node(), Node()
                root.leaf, leaf.root = leaf, root
                leaf.data = block(%d)  # leaks
            gc.disable()
            tree()
            """ % size(33))], [Leak(AFTER, size(33), 1, "tree", says="reference cycle")]),
    Notebook("traceback_in_a_crowd", [
        Step("""
            def train():
                activations = block(%d)  # leaks
                raise ValueError("bad batch")
            train()
            """ % size(34), fails=True)], [Leak(TRACEBACK, size(34), 1, "train")]),
    Notebook("and_many_more", [MANY]),
]
