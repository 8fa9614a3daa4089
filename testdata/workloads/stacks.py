"""Cells that allocate from everywhere Python code can be, and note who called: what the frames said at that very
moment.

Each allocation has a size of its own, so that a report's line can be told by it."""

from model import Plain

FIRST = """
import asyncio, contextlib, functools, gc, json, os, sys, threading
import numpy as np

_log, _kept, _next = [], [], [200_000]

def _who(frame):
    found = []
    while frame:
        code = frame.f_code
        found.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return found

def alloc():
    _next[0] += 16
    n = _next[0]
    _kept.append(np.empty(n, dtype=np.uint8)); _log.append([n, _who(sys._getframe())])
    return n
"""

CASES = [
    ("plain", "alloc()"),
    ("nested", """
        def inner():
            return alloc()
        def outer():
            x = 1
            return inner() + x
        outer()
        """),
    ("multi_line_statement", """
        def f(a, b,
              c):
            return a
        f(
            1,
            2,
            alloc(
            ),
        )
        """),
    ("several_on_one_line", "alloc(); alloc()\nalloc()"),
    ("list_comprehension", "[alloc() for _ in range(2)]"),
    ("comprehensions",
     "def f():\n    return ({alloc() for _ in range(1)},\n            {i: alloc() for i in range(1)})\nf()"),
    ("generator_expression", "sum(alloc()\n    for _ in range(2))"),
    ("lambda", "f = lambda: (\n    alloc())\nf()"),
    ("decorator", """
        def deco(f):
            @functools.wraps(f)
            def wrapper(*args):
                return f(*args)
            return wrapper
        @deco
        @functools.lru_cache(None)
        def decorated(x):
            return alloc()
        decorated(1)
        """),
    ("decorator_runs", "def now(f):\n    alloc()\n    return f\n@now\ndef g():\n    pass"),
    ("generator", """
        def gen():
            yield alloc()
            yield alloc()
        for _ in gen():
            pass
        """),
    ("yield_from", """
        def inner():
            yield alloc()
        def outer():
            yield from inner()
        list(outer())
        """),
    ("await_plain", "async def a():\n    return alloc()\nawait a()"),
    ("await_after_sleep", """
        async def b():
            await asyncio.sleep(0)
            return alloc()
        async def c():
            return await b()
        await c()
        """),
    ("gather", """
        async def d(x):
            await asyncio.sleep(0)
            alloc()
        await asyncio.gather(d(1), d(2))
        """),
    ("c_callback", """
        def key(x):
            alloc()
            return x
        sorted([2, 1], key=key)
        list(map(lambda x: alloc(), [1]))
        functools.reduce(lambda x, y: alloc(), [1, 2])
        """),
    ("class_body", "class K:\n    size = alloc()\n    def __init__(self):\n        self.n = alloc()\nK()"),
    ("dunder", """
        class P:
            @property
            def value(self):
                return alloc()
            def __add__(self, other):
                return self.value
            def __enter__(self):
                alloc()
            def __exit__(self, *a):
                alloc()
            def __del__(self):
                alloc()
        P() + 1
        with P():
            pass
        """),
    ("context_manager", """
        @contextlib.contextmanager
        def cm():
            alloc()
            yield
            alloc()
        with cm():
            alloc()
        """),
    ("try_finally", """
        def t():
            try:
                raise ValueError
            except ValueError:
                alloc()
            finally:
                alloc()
        t()
        """),
    ("exec", 'exec("def made():\\n    return alloc()\\nmade()")\nexec(compile("\\n\\nalloc()", "<made up>", "exec"))'),
    ("eval", 'eval("alloc()")\neval("[alloc() for _ in range(1)]")'),
    ("short_lived_code", "for i in range(40):\n    exec('\\n' * i + 'alloc()')"),
    ("gaps", "def far():\n" + "\n" * 300 + "    return alloc()\nfar()"),
    ("deep", """
        def deep(n):
            return deep(n - 1) if n else alloc()
        deep(30)
        """),
    ("too_deep", """
        def deeper(n):
            return deeper(n - 1) if n else alloc()
        deeper(100)
        """),
    ("threads", """
        def work():
            alloc()
        for _ in range(3):
            t = threading.Thread(target=work)
            t.start()
            t.join()
        """),
    ("names", "def größe_日本():\n    return alloc()\nclass Ä:\n    def ö(self): return größe_日本()\nÄ().ö()"),
    ("default_argument", "def late(x=alloc()):\n    return x\nlate()"),
    ("loop", "for i in range(2):\n    if i:\n        alloc()\n    else:\n        alloc()"),
    ("assert", "assert alloc() and \\\n    alloc()"),
    ("star", "print(*[alloc()], **{'end': str(alloc() * 0)[:0]})"),
    ("library",
     (
         "import collections\nclass D(collections.UserDict):\n    def __missing__(self, k):\n        return alloc()\n"
         "D()['x']"
     )),
]

LAST = """
with open(os.environ["IPYTRACER_STACKS"], "w") as f:
    json.dump(_log, f)
"""

CELLS = [Plain("first", FIRST)] + [Plain(*case) for case in CASES] + [Plain("last", LAST)]
