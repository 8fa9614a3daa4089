"""Makes objects as an import of large packages does: modules with classes, functions, their code, closures, dicts,
tuples, strings, instances."""

import gc
import sys
import types

TEXT = '''
class C{0}:
    "A class of an import."
    a, b, c = {0}, "x{0}", ("p{0}", {0}.5, None)
    def __init__(self, x, y=("d{0}",), *, key=None):
        self.x, self.y, self.options = x, y, {{"key{0}": key, "n": {0}}}
    def forward(self, input, weight=None):
        "What it does, {0}."
        def inner(v): return v + self.x
        return [inner(i) for i in input]
    @property
    def shape{0}(self): return (self.x, {0})
    @staticmethod
    def build(**kw): return C{0}(kw.get("x"))
    @classmethod
    def of(cls, *args): return cls(args)
def f{0}(x: int, y: "C{0}" = None) -> dict:
    return {{"r{0}": x, "s": [x, y]}}
TABLE{0} = {{"op%d_{0}" % i: (f{0}, "arg%d" % i, [i, "v{0}"]) for i in range(12)}}
OBJECTS{0} = [C{0}(i, (i, "t%d" % i), key={{"k": i}}) for i in range(8)]
'''


def make(tracked):
    """Imports modules until the garbage collector knows so many objects."""
    made = 0
    while True:
        if made % 100 == 0 and len(gc.get_objects()) >= tracked:
            return
        module = types.ModuleType("made%d" % made)
        exec(compile(TEXT.format(made), "<made%d>" % made, "exec"), module.__dict__)
        sys.modules[module.__name__] = module
        made += 1
