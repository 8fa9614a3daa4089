# Compiles statements one at a time, as IPython does, and prints their line tables as JSON.
import ast
import json
import sys

SOURCES = [
    "x = 1",
    "x = 1;",
    "1",
    '"doc"',
    "pass",
    "del x",
    "global q",
    "raise E",
    "assert a",
    "import os",
    "await z",
    "lambda: 0",
    "f(\n  a)",
    "print(1,\n 2)",
    "(\n a\n)",
    "x = (\n a,\n b)",
    "x = [\n 1,\n 2]",
    "x = [i for i in range(3)]",
    "x: int",
    "x: int = 1",
    "if a:\n  x: int = 1",
    "if a: b",
    "if 0:\n  x",
    "while 0: pass",
    "for i in r:\n  pass",
    "with a:\n  b",
    "try:\n  a\nexcept E:\n  b",
    "def g():\n  pass",
    "async def f():\n  pass",
    "@d\ndef g(): pass",
    "class C:\n  y: int = 1",
    "from __future__ import annotations",
    "x = f(" + ",\n".join("a%d" % i for i in range(5)) + ")",
]
if sys.version_info >= (3, 10):
    SOURCES.append("match a:\n  case 1: pass")
if sys.version_info >= (3, 12):
    SOURCES.append("type X = int")

out = []
for line in (1, 2, 7, 300, 40000):
    for source in SOURCES:
        tree = ast.parse("\n" * (line - 1) + source)
        for mode, node in (("exec", ast.Module(tree.body, [])), ("single", ast.Interactive(tree.body))):
            code = compile(node, "cell", mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | 0x200)
            table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
            out.append(
                {
                    "Line": line,
                    "Mode": mode,
                    "Source": source,
                    "First": code.co_firstlineno,
                    "Table": table.hex(),
                }
            )
print(json.dumps(out))
