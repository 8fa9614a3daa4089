"""Notebooks with planted leaks, and healthy ones. notebooks.py says what they are made of."""

from notebooks import AFTER, GROWTH, MIB, OUTPUT, TRACEBACK, Leak, Notebook, Step, collected_traceback, reference_cycle, stolen_reference, waiting_thread

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
    """What glibc's malloc maps for a bytes object of n: more than 32 MiB always has a mapping of its own, of whole pages."""
    chunk = (n + 33 + 8 + 15) // 16 * 16
    return (chunk + 8 + 4095) // 4096 * 4096


LEAKS = [
    Notebook("list", [Step("acc = []"), Step("acc.append(block(%d))  # leaks" % size(1), 4)], [Leak(GROWTH, 4 * size(1), 4)]),
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
        Step("handlers['done'].append(functools.partial(on_done, block(%d)))  # leaks" % size(7), 3)], [Leak(GROWTH, 3 * size(7), 3)]),
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
        Step("batch = block(%d)  # leaks\nlogger.warning('batch %%s', batch)\ndel batch" % size(12), 3)], [Leak(GROWTH, 3 * size(12), 3)]),
    Notebook("output_once", [Step("block(%d)  # leaks" % size(13))], [Leak(OUTPUT, size(13), 1)]),
    Notebook("output_of_each_run", [Step("np.sqrt(block(%d))[:3]  # leaks" % size(14), 3)], [Leak(OUTPUT, 3 * 2 * size(14), 3)]),
    Notebook("output_in_an_object", [
        Step("""
            class Result:
                def __init__(self, data):
                    self.data = {"values": [data]}
            def evaluate():
                return Result(block(%d))  # leaks
            """ % size(15)),
        Step("evaluate()")], [Leak(OUTPUT, size(15), 1, "evaluate")]),
    Notebook("output_and_deleted", [Step("frame = block(%d)  # leaks\nframe" % size(16)), Step("del frame")], [Leak(OUTPUT, size(16), 1)]),
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
        Step("helpers.fetch(lambda: block(%d))  # leaks" % size(17)), Step("del helpers")], [Leak(AFTER, size(17), 1, "<lambda>")]),
    Notebook("attribute_of_a_library", [Step("json.last_payload = block(%d)  # leaks" % size(18))], [Leak(AFTER, size(18), 1)]),
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
    # From here on the order matters: an exception drops the traceback of the one before, an exception's frames may have much.
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

HEALTHY = [
    Notebook("rebinding", [Step("x = block(%d)\ny = x * 2" % (30 * MIB), 5)]),
    Notebook("temporaries", [Step("m = sum(float((block(%d) * k).mean()) for k in range(5))" % (10 * MIB), 4)]),
    Notebook("shows_what_it_keeps", [Step("table = block(%d)\ntable" % (8 * MIB))]),
    Notebook("small_results", [Step("block(%d).sum()" % (20 * MIB), 5)]),
    Notebook("handled_exceptions", [
        Step("""
            def risky():
                big = block(%d)
                raise ValueError(len(big))
            for _ in range(3):
                try:
                    risky()
                except ValueError as e:
                    pass
            """ % (5 * MIB), 3)]),
    Notebook("cells_that_fail_and_keep_nothing", [
        Step("""
            kept = []
            for i in range(3):
                kept.append(block(%d))
            raise ValueError("a bad batch")
            """ % (5 * MIB), fails=True),
        Step("""
            for i in range(3):
                kept.append(block(%d))
                if i == 2:
                    raise ValueError("a bad batch")
            """ % (5 * MIB), fails=True),
        Step("undefined_name", fails=True), Step("kept.clear()"), Step("undefined_name", fails=True)]),
    Notebook("bounded_caches", [
        Step("""
            last = collections.deque(maxlen=3)
            @functools.lru_cache(maxsize=2)
            def load(day):
                return block(%d)
            day = 0
            """ % (4 * MIB)),
        Step("day += 1\nlast.append(load(day)[:5].copy())\nlast.append(block(%d))" % (3 * MIB), 7)]),
    Notebook("collected_and_cleared", [
        Step("parts = []"), Step("parts.append(block(%d))" % (6 * MIB), 4), Step("whole = np.concatenate(parts)\nparts.clear()"), Step("del whole")]),
    Notebook("threads_joined", [
        Step("""
            def work(out, i):
                out[i] = block(%d).sum()
            sums = {}
            threads = [threading.Thread(target=work, args=(sums, i)) for i in range(4)]
            for t in threads: t.start()
            for t in threads: t.join()
            """ % (7 * MIB), 3)]),
    Notebook("processes_waited_for", [
        Step("""
            from concurrent.futures import ProcessPoolExecutor
            import multiprocessing
            with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
                squares = list(pool.map(abs, range(10)))
            done = subprocess.run(["true"]).returncode
            """, 2)]),
    # A string in some of the arenas that each run maps keeps those, and the next run's strings go there: at the end each run has left
    # the same, and all of it is in use.
    Notebook("arenas_that_are_used_again", [
        Step("pins, arena, runs = [], 1 << 20 if sys.version_info >= (3, 10) else 1 << 18, 0"),
        Step("""
            rows = []
            rows.extend([str(i) for i in range(300_000)])
            runs += 1
            for row in rows[::-100]:
                if len(pins) < runs * (3 << 20) // arena and all(abs(id(row) - id(pin)) > arena for pin in pins):
                    pins.append(row)
            """, 5)]),
    Notebook("model_in_a_variable", [
        Step("""
            class Layer:
                def __init__(self, n):
                    self.weights, self.gradient = block(n), None
                def forward(self, x):
                    self.saved = x
                    return x + self.weights
            class Net:
                def __init__(self):
                    self.layers = [Layer(%d) for _ in range(3)]
                def fit(self, x):
                    for layer in self.layers:
                        x = layer.forward(x)
                    return self
            """ % (4 * MIB)),
        Step("net = Net()\nhistory = [net.fit(block(%d)) and 1 for _ in range(4)]" % (4 * MIB), 3)]),
    Notebook("cycles_that_are_collected", [
        Step("""
            class Node:
                pass
            for _ in range(3):
                a, b = Node(), Node()
                a.b, b.a, b.data = b, a, block(%d)
            del a, b
            n = gc.collect()
            """ % (3 * MIB), 3)]),
    Notebook("awaited", [
        Step("""
            async def fetch(i):
                data = block(%d)
                await asyncio.sleep(0.01)
                return int(data.sum())
            """ % (3 * MIB)),
        Step("await asyncio.gather(*[fetch(i) for i in range(4)])", 3)]),
]


def followed(name, *steps, **more):
    """A notebook of LEAKS after its cells were changed as the audit's advice says."""
    [leaky] = [book for book in LEAKS if book.name == name]
    return Notebook(name, [Step(source, leaky.steps[-1].times, **more) if i == len(steps) - 1 else Step(source)
                           for i, source in enumerate(steps) if source])


FOLLOWED = [
    # Make it anew at the top of the cell, or bound what it collects.
    followed("list", "", "acc = []\nacc.append(block(%d))" % size(1)),
    followed("dict_in_helper", """
        results = {}
        def remember(key):
            value = block(%d)
            results[key] = value
            return value.sum()
        """ % size(2), "results.clear()\ntotal = remember(len(results))"),
    followed("class_registry", """
        class Model:
            instances = collections.deque(maxlen=1)
            def __init__(self):
                self.weights = block(%d)
                Model.instances.append(self)
        """ % size(3), "model = Model()"),
    followed("closure", """
        def counter():
            history = collections.deque(maxlen=1)
            def step():
                history.append(block(%d))
                return len(history)
            return step
        step = counter()
        """ % size(4), "n = step()"),
    followed("default_argument", """
        def collect(seen=None):
            seen = [] if seen is None else seen
            seen.append(block(%d))
            return len(seen)
        """ % size(5), "n = collect()"),
    followed("lru_cache", """
        @functools.lru_cache(maxsize=1)
        def load(day):
            return block(%d)
        day = 0
        """ % size(6), "day += 1\nmean = load(day).mean()"),
    followed("callbacks", "def on_done(data, event): return data.sum()",
             "handlers = collections.defaultdict(list)\nhandlers['done'].append(functools.partial(on_done, block(%d)))" % size(7)),
    followed("views_of_large_arrays", "heads = []", """
        def head():
            whole = block(%d)
            return whole[:10].copy()
        heads.append(head())
        """ % size(8)),
    followed("object_array", "", "slots = np.empty(100, dtype=object)\nslots[0] = block(%d)" % size(9)),
    followed("deque_without_bound", "recent = collections.deque(maxlen=2)", "recent.append((time.time(), block(%d)))" % size(10)),
    followed("generators_that_wait", """
        def reader():
            chunk = block(%d)
            while True:
                yield chunk[0]
        """ % size(11), "readers = []\nr = reader()\nfirst = next(r)\nreaders.append(r)"),
    # End the line with a semicolon, or give the result a name.
    followed("output_once", "block(%d);" % size(13)),
    followed("output_of_each_run", "np.sqrt(block(%d))[:3];" % size(14)),
    followed("output_in_an_object", """
        class Result:
            def __init__(self, data):
                self.data = {"values": [data]}
        def evaluate():
            return Result(block(%d))
        """ % size(15), "evaluate();"),
    followed("output_and_deleted", "frame = block(%d)\nframe;\ndel frame" % size(16)),
    # Clear or bound what a module keeps.
    followed("module_cache", "import types\nhelpers = types.ModuleType('helpers')\nsys.modules['helpers'] = helpers\nhelpers._cache = {}",
             "helpers._cache[0] = block(%d)\nhelpers._cache.clear()" % size(17)),
    followed("attribute_of_a_library", "json.last_payload = block(%d)\ndel json.last_payload" % size(18)),
    # End the thread.
    followed("thread_that_waits", """
        def work(ready, stop):
            local = block(%d)
            ready.set()
            stop.wait()
            return local.sum()
        ready, stop = threading.Event(), threading.Event()
        thread = threading.Thread(target=work, args=(ready, stop), daemon=True)
        thread.start()
        ready.wait()
        stop.set()
        thread.join()
        """ % size(19)),
    # Give the reference back.
    followed("reference_never_given_back", """
        stolen = block(%d)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(stolen))
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(stolen))
        del stolen
        """ % size(20)),
    followed("freed_by_a_timer", """
        def later(data):
            data[0] = 0
        timer = threading.Timer(0.2, later, [block(%d)])
        timer.start()
        timer.join()
        del timer
        """ % size(21), pause=3),
    followed("process_that_stays", "child = subprocess.Popen(['sleep', '1000'])\nchild.terminate()\nstatus = child.wait()"),
    followed("forked_worker", """
        pid = os.fork()
        if pid == 0:
            time.sleep(1000)
            os._exit(0)
        os.kill(pid, 15)
        status = os.waitpid(pid, 0)
        """),
    followed("pool_that_stays", """
        import multiprocessing
        with multiprocessing.get_context("fork").Pool(2) as pool:
            squares = pool.map(abs, range(4))
        pool.join()
        """),
    followed("executor_that_stays", """
        import concurrent.futures, multiprocessing
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as executor:
            squares = list(executor.map(abs, range(4)))
        """),
    followed("bytes_in_a_list", "", "blobs = []\nblobs.append(bytes(40_000_000))"),
    followed("small_objects", "", "rows = []\nrows.extend([str(i) for i in range(300_000)])"),
    # Handle the exception.
    followed("traceback_dropped_by_the_next", """
        def train():
            activations = block(%d)
            raise ValueError("bad batch")
        try:
            train()
        except ValueError:
            pass
        """ % size(22)),
    followed("traceback_that_is_collected", """
        def fit():
            gradients = block(%d)
            raise ValueError("bad batch")
        try:
            fit()
        except ValueError:
            pass
        """ % size(26)),
    followed("traceback_of_the_last", """
        def inner(data):
            scaled = data * 2
            raise RuntimeError("bad inner")
        def outer():
            inner(np.zeros(10, dtype=np.uint8).repeat(%d))
        """ % (size(23) // 10), "try:\n    outer()\nexcept RuntimeError:\n    pass"),
    # Break the cycle, or collect it.
    followed("reference_cycle", """
        class Node:
            pass
        def tree():
            root, leaf = Node(), Node()
            root.leaf, leaf.root = leaf, root
            leaf.data = block(%d)
        tree()
        n = gc.collect()
        """ % size(24)),
    followed("cycle_beside_stale_words", """
        import weakref
        class Leaf:
            pass
        def bush():
            root, leaf = Leaf(), Leaf()
            root.leaf, leaf.root = leaf, weakref.ref(root)
            leaf.data = block(%d)
        bush()
        """ % size(25)),
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
    Notebook("library_in_a_crowd", [Step("json.last_crowd = block(%d)  # leaks" % size(32))], [Leak(AFTER, size(32), 1)]),
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
