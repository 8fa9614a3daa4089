"""The keys of cells: what changes them, what does not, and that nothing of the user's objects runs."""

import functools
import sys
import types
import unittest
import warnings

from ipytracer import _key, _usedcode


class Notebook(unittest.TestCase):
    """A namespace with cells that have run in it."""

    def setUp(self):
        self.names = {"__name__": "__main__"}
        main = types.ModuleType("__main__")
        main.__dict__.update(self.names)

    def run_cell(self, source):
        exec(compile(source, "<cell>", "exec"), self.names)

    def code(self, source):
        return _key.key(source, self.names).code

    def data(self, source):
        return _key.key(source, self.names).data


class Code(Notebook):
    def test_the_same_code(self):
        """Comments, blank lines, positions and the companion's own first line make no difference."""
        first = self.code("x = f(1)\ny = x + 2")
        for same in ("x = f( 1 )  # one\n\n\ny = (x + 2)\n", "# two\nx = f(1); y = x + 2",
                     "%%tracer\nx = f(1)\ny = x + 2", "%%tracer run\nx = f(1)\ny = x + 2"):
            self.assertEqual(self.code(same), first, same)
        for other in ("x = f(2)\ny = x + 2", "x = f(1)\ny = x + 2\ny", "x = f(1)\nz = x + 2", "x = f('1')\ny = x + 2",
                      "if x:\n    x = f(1)\ny = x + 2", "x = f(1.0)\ny = x + 2", "%%tracer x\nx = f(1)\ny = x + 2\n1"):
            self.assertNotEqual(self.code(other), first, other)

    def test_shape(self):
        """Lists of statements are not confused with those around them."""
        self.assertNotEqual(self.code("if a:\n    b\n    c"), self.code("if a:\n    b\nc"))
        self.assertNotEqual(self.code("[a, [b, c]]"), self.code("[a, [b], c]"))

    def test_functions(self):
        """The body of a function that is called counts, also through other functions, defaults and decorators."""
        seen = set()
        for source in (
            "def g(n): return n",
            "def f(n): return g(n)",
            "def g(n): return n + 1",
            "def f(n, m=3): return g(n)",
            "def f(n, m=4): return g(n)",
            "import functools\n@functools.lru_cache\ndef f(n): return g(n)",
            "@functools.lru_cache\ndef f(n): return g(n + 1)",
            "f = functools.partial(f)",
            "def around(of):\n    def within(n): return of(n)\n    return within\n@around\ndef f(n): return 1",
            "@around\ndef f(n): return 2",
        ):
            self.run_cell(source)
            seen.add(self.code("f(1)"))
        self.assertEqual(len(seen), 10)
        self.run_cell("@around\n# another place\ndef f(n): return 2")
        self.assertEqual(len(seen | {self.code("f(1)")}), 10)

    def test_classes(self):
        seen = set()
        for source in (
            "class Base:\n    def fit(self): return 1",
            "class Model(Base):\n    @property\n    def size(self): return 1\nm = Model()",
            "class Base:\n    def fit(self): return 2\n"
            "class Model(Base):\n    @property\n    def size(self): return 1\nm = Model()",
            "class Model(Base):\n    @property\n    def size(self): return 2\nm = Model()",
            "class Model(Base):\n    @staticmethod\n    def size(): return 2\nm = Model()",
            "class Meta(type): pass\nclass Model(Base, metaclass=Meta):\n    def size(): return 2\nm = Model()",
        ):
            self.run_cell(source)
            seen.add(self.code("m.fit()"))
        self.assertEqual(len(seen), 6)

    def test_names_that_the_cell_makes(self):
        """A cell that defines what it uses has the same key before and after its first run."""
        for cell in (
            "def f(n): return n\nf(3)",
            "class C: pass\nc = C()\nc",
            "import json as j, os.path\nj.dumps(os.path.join('a'))",
            "rows = [1, 2]\ntotal = sum(rows)",
            "for i in range(3):\n    last = i\nlast",
            "with open('/dev/null') as f:\n    text = f.read()\ntext",
            "try:\n    pass\nexcept OSError as e:\n    e",
            "parts = [p for p in range(3)]",
        ):
            before = _key.key(cell, self.names)
            self.run_cell(cell)
            self.assertEqual(_key.key(cell, self.names), before, cell)

    def test_magics(self):
        """The code behind a magic is read, too; a cell that is no Python has a key by its text."""
        self.run_cell("def f(): return 1")
        cells = ("%time f()", "%%time\nf()", "x = 1\n%timeit -n1 f()", "!ls\nf()", "f?\nf()")
        before = [self.code(cell) for cell in cells]
        self.run_cell("def f(): return 2")
        for cell, was in zip(cells, before):
            self.assertNotEqual(self.code(cell), was, cell)
        self.assertNotEqual(self.code("%%bash\nls"), self.code("%%bash\nls -l"))
        self.assertNotEqual(self.code("x = ("), self.code("x = (("))

    def test_recursion(self):
        self.run_cell("def f(n): return g(n)\ndef g(n): return f(n)")
        first = self.code("f(1)")
        self.run_cell("def g(n): return f(n) + 1")
        self.assertNotEqual(self.code("f(1)"), first)

    def test_other_process(self):
        """Sets of constants have another order in each process."""
        self.run_cell("def f(x): return x in {'a', 'b', 'c', 'd', 'e', 'f', 'g'}")
        constant = next(c for c in self.names["f"].__code__.co_consts if isinstance(c, frozenset))
        self.assertEqual(_usedcode._literal(constant), "{'a', 'b', 'c', 'd', 'e', 'f', 'g'}")

    def test_no_warning(self):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            self.code("x = '\\d'")
        self.assertEqual(seen, [])


class Data(Notebook):
    def test_sizes(self):
        import numpy as np
        arrays = np.ones(3), np.ones((3, 1))
        values = (1, 2, True, 0.5, "abc", "abcd", [1], [2, 3], {1: 2}, range(5), *arrays, b"x", None)
        seen = []
        for self.names["x"] in values:
            seen.append(self.data("x * 2"))
        self.assertEqual(len(set(seen)), len(values))
        self.names["x"] = [9]
        self.assertEqual(self.data("x * 2"), seen[6])

    def test_read_by_functions(self):
        self.run_cell("def f(): return total")
        self.names["total"] = 1
        first = self.data("f()")
        self.names["total"] = 2
        self.assertNotEqual(self.data("f()"), first)


class Hostile(Notebook):
    def test_objects(self):
        """No method of a user's object is called, whatever the cell does with it."""
        ran = []

        class Meta(type):
            def __getattribute__(cls, name):
                ran.append(name)
                return type.__getattribute__(cls, name)

            __name__ = property(lambda cls: ran.append("name"))
            __instancecheck__ = __subclasscheck__ = lambda *_: ran.append("check")

        def touched(name):
            return lambda self, *_: ran.append(name)

        names = ("__len__", "__repr__", "__str__", "__eq__", "__hash__", "__bool__", "__iter__", "__getattr__",
                 "__getattribute__", "__index__", "__int__", "__format__", "__reduce__", "__sizeof__", "__get__")
        body = {name: touched(name) for name in names}
        for name in ("shape", "__class__", "__module__", "dtype", "__dict__"):
            body[name] = property(touched(name))
        made = []
        for bases, module in (((), "__main__"), ((), "other"), ((list,), "other"), ((dict,), "other"), ((str,), "x")):
            made.append(type("H", bases, dict(body)))
            made.append(Meta("H", bases, dict(body, __module__=module)))
            made.append(types.new_class("H", bases, {"metaclass": Meta}))
        ran.clear()
        for i, cls in enumerate(made):
            self.names["h%d" % i] = object.__new__(cls) if cls.__mro__[1] is object else cls.__mro__[1].__new__(cls)
            self.names["c%d" % i] = cls
        self.names["p"] = functools.partial(types.MethodType(print, self.names["h0"]))
        self.names["m"] = types.MethodType(lambda self: 1, self.names["h1"])
        ran.clear()
        cell = "\n".join("h%d.shape[0] + len(c%d)" % (i, i) for i in range(len(made))) + "\np(m)"
        self.assertIsNotNone(_key.key(cell, self.names))
        self.assertEqual(ran, [])

    def test_a_false_numpy(self):
        """A class in the place of numpy.ndarray is not read."""
        ran = []

        class Array:
            shape = property(lambda self: ran.append("shape"))

        false = types.ModuleType("numpy")
        false.ndarray = Array
        true = sys.modules.get("numpy")
        try:
            sys.modules["numpy"] = false
            self.names["x"] = Array()
            self.data("x")
        finally:
            if true is None:
                del sys.modules["numpy"]
            else:
                sys.modules["numpy"] = true
        self.assertEqual(ran, [])

    def test_sources(self):
        """Sources that are long, nested or broken have a key or none, and nothing is raised."""
        self.assertIsNone(_key.key("x = 1\n" * (2 << 20), {}))
        for source in (
            "(" * 5000 + ")" * 5000, "x = " + "-" * 15000 + "1", "a" + ".b" * 5000, "f" + "()" * 5000,
            "[" * 90 + "]" * 90, "x = " + " + ".join(["1"] * 3000), "if x:\n" * 50, "\0", "\ud800",
            "'\ud800'", "x = 0x" + "f" * 9000,
            "lambda: " * 1000 + "1", "%%time\n" * 200 + "(",
            "%%tracer run", "\\", "'" * 10001, "%time x\n" * 3000, "\x0c\r\n\t",
        ):
            self.assertEqual(len(_key.key(source, self.names).code), 32, source[:20])
        self.assertEqual(_key.key("x" * 200000, {}), _key.key("x" * 200000, {}))

    def test_bounds(self):
        """Thousands of functions that call each other end at a bound."""
        text = "\n".join("def f%d(): return f%d(), f%d()" % (i, i + 1, (i * 7) % 5000) for i in range(5000))
        self.run_cell(text)
        self.run_cell("x = " + "lambda: " * 90 + "1")
        self.assertIsNotNone(_key.key("f0(); x()", self.names))

    def test_code_of_odd_constants(self):
        """Code objects may have been made by hand, with any object as a constant."""
        ran = []

        class Odd(tuple):
            __repr__ = __iter__ = __len__ = lambda self: ran.append(1)

        self.run_cell("def f(): return 1")
        deep = ()
        for _ in range(100000):
            deep = (deep,)
        f = self.names["f"]
        f.__code__ = f.__code__.replace(co_consts=(Odd(), deep, (Odd(),), object(), frozenset([object()])))
        f.__defaults__ = (Odd(), deep)
        self.code("f()")
        self.assertEqual(ran, [])


if __name__ == "__main__":
    unittest.main()
