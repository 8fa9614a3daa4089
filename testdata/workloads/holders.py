"""Cells that leave arrays behind, each of a size of its own, and who has to be found to hold each at the end."""

import textwrap


class Cell:
    request = {}

    def __init__(self, name, source, status="ok"):
        self.name, self.source, self.status = name, textwrap.dedent(source).strip() + "\n", status


CELLS = [
    Cell("first", """
        import functools, gc, ctypes, sys, threading, types
        import numpy as np
        gc.disable()
        def array(n):
            return np.ones(n, dtype=np.uint8)
        """),
    Cell("variable", "model = {'layers': [0, types.SimpleNamespace(weight=array(300_001))]}"),
    Cell("view", "part = array(300_002)[5:10]"),
    Cell("output", "array(300_003)"),
    Cell("output_of_a_list", "[array(300_004)]"),
    Cell("traceback", """
        def step(n):
            batch = [array(300_005)]
            return 1 / n
        step(0)
        """, "error"),
    Cell("thread", """
        started, never = threading.Event(), threading.Event()
        def work():
            mine = array(300_006)
            started.set()
            never.wait()
        threading.Thread(target=work, daemon=True).start()
        started.wait()
        """),
    Cell("module", """
        library = types.ModuleType("library"); sys.modules["library"] = library
        library.cache = {"x": array(300_007)}
        del library
        """),
    Cell("closure", """
        def keeps():
            captured = array(300_008)
            return lambda: captured
        kept = keeps()
        """),
    Cell("cached", """
        @functools.lru_cache(None)
        def load(name):
            return array(300_009)
        load("a"); None
        """),
    Cell("cycle", """
        class Node: pass
        node = Node(); node.me = node; node.data = array(300_010)
        del node
        """),
    Cell("leaked", """
        lost = array(300_011)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(lost))
        del lost
        """),
    Cell("hidden", "sys.last_value = sys.last_traceback = sys.last_type = sys.last_exc = None"),
    Cell("freed", "gone = array(300_012); del gone"),
]

# size: kind, path, function
HOLDERS = {
    300_001: ("variable", "model['layers'][1].weight", ""),
    300_002: ("variable", "part", ""),
    300_003: ("output", "Out[4]", ""),
    300_004: ("output", "Out[5][0]", ""),
    300_005: ("traceback", "batch[0]", "step"),
    300_006: ("thread", "mine", "work"),
    300_007: ("module", "library.cache['x']", ""),
    300_008: ("variable", "kept.__closure__['captured']", ""),
    300_009: ("variable", "load.<dict>['a']", ""),
    300_010: ("cycle", "….data", ""),
    300_011: ("none", "", ""),
}
