"""Notebooks that keep what they need, free what they do not, and of which an audit must say nothing. The imports of
leaks.py are theirs, too."""

from notebooks import MIB, Notebook, Step

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
        Step("parts = []"), Step("parts.append(block(%d))" % (6 * MIB), 4),
        Step("whole = np.concatenate(parts)\nparts.clear()"), Step("del whole")]),
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
    # A string in some of the arenas that each run maps keeps those, and the next run's strings go there: at the end
    # each run has left the same, and all of it is in use.
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
