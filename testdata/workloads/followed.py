"""The notebooks of leaks.py after their cells were changed as the audit's advice says: an audit must say nothing of
them."""

from leaks import LEAKS, size
from notebooks import Notebook, Step


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
             (
                 "handlers = collections.defaultdict(list)\n"
                 "handlers['done'].append(functools.partial(on_done, block(%d)))"
             ) % size(7)),
    followed("views_of_large_arrays", "heads = []", """
        def head():
            whole = block(%d)
            return whole[:10].copy()
        heads.append(head())
        """ % size(8)),
    followed("object_array", "", "slots = np.empty(100, dtype=object)\nslots[0] = block(%d)" % size(9)),
    followed("deque_without_bound", "recent = collections.deque(maxlen=2)",
             "recent.append((time.time(), block(%d)))" % size(10)),
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
    followed("module_cache",
             (
                 "import types\nhelpers = types.ModuleType('helpers')\nsys.modules['helpers'] = helpers\n"
                 "helpers._cache = {}"
             ),
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
    followed("process_that_stays",
             "child = subprocess.Popen(['sleep', '1000'])\nchild.terminate()\nstatus = child.wait()"),
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
