"""Say how IPython reads cells: for each a list of its statements, or null where Python refuses IPython's own result.

Reads a list of sources in JSON, and writes a list of lists. A statement is the name of its node; a call that stands for
a line of IPython's is "Magic" and the line without blanks, or ? for help.
"""

import ast
import json
import sys
import warnings

from IPython.core.inputtransformer2 import TransformerManager


def call(node):
    """Return what get_ipython().f(…) stands for."""
    while isinstance(node, ast.Await):
        node = node.value
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    target = node.func.value
    if isinstance(target, ast.Call) and getattr(target.func, "id", "") == "get_ipython":
        args = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        sign = {"run_line_magic": "%", "run_cell_magic": "%%", "system": "!", "getoutput": "!"}.get(node.func.attr, "?")
        text = "".join((sign + "".join(args)).replace("\\\n", "").split())
        if sign != "%%" and (text.endswith("?") or args[:1] and args[0] in ("pinfo", "pinfo2", "psearch")):
            return "Magic ?"
        return "Magic " + text
    return None


def statements(body, out):
    for node in body:
        text = type(node).__name__
        if isinstance(node, (ast.Assign, ast.Expr)) and call(node.value):
            text = ("Assign " if isinstance(node, ast.Assign) else "") + call(node.value)
        out.append(text.replace("Async", ""))
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, field, [])
            if isinstance(inner, list):
                for one in inner:
                    if isinstance(one, (ast.excepthandler, ast.match_case)):
                        statements(one.body, out)
                    else:
                        statements([one], out)
    return out


def read(source):
    try:
        return statements(ast.parse(TransformerManager().transform_cell(source)).body, [])
    except SyntaxError:
        return None


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    json.dump([read(source) for source in json.load(sys.stdin)], sys.stdout)
