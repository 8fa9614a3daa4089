"""Print the syntax trees of Python files as text, as the tests of package syntax print theirs.

Reads paths from the standard input, one a line, and prints for each: the path, the number of characters that follow,
and the tree, or ! where this Python refuses the file. The first line is "blind" where positions inside f-strings are
left out.
"""

import ast
import sys
import warnings

INSIDE = sys.version_info >= (3, 12)  # before, positions inside f-strings are not those of the source

OPS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "MatMult": "@",
    "LShift": "<<", "RShift": ">>", "BitOr": "|", "BitXor": "^", "BitAnd": "&", "And": "and", "Or": "or",
    "Not": "not", "Invert": "~", "UAdd": "+", "USub": "-", "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=",
    "Gt": ">", "GtE": ">=", "Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in",
}  # fmt: skip


def quote(text):
    if isinstance(text, str):
        text = text.encode("utf-8", "surrogatepass")
        for high in range(0xA0, 0xC0):
            for low in range(0x80, 0xC0) if b"\xed" + bytes([high]) in text else ():
                text = text.replace(bytes([0xED, high, low]), b"\xef\xbf\xbd")
    return "'" + "".join(chr(c) if 0x30 <= c < 0x7F else "%%%02x" % c for c in text) + "'"


class Dump:
    def __init__(self, source):
        self.out = []
        self.lines = source.encode("utf-8", "surrogatepass").split(b"\n")
        self.blind = 0  # inside an f-string without positions

    def node(self, depth, name, node, **fields):
        place = ""
        if hasattr(node, "lineno") and not self.blind:
            place = f" {node.lineno}:{node.col_offset}-{node.end_lineno}:{node.end_col_offset}"
        self.out.append(" " * depth + name + place + "\n")
        self.blind += name == "JoinedStr" and not INSIDE
        for field, value in fields.items():
            self.field(depth + 1, field, value)
        self.blind -= name == "JoinedStr" and not INSIDE

    def field(self, depth, field, value):
        if value is None or value is False or value in ([], "", b"") or type(value) is int and value == 0:
            return
        if isinstance(value, (str, bytes)):
            self.out.append(" " * depth + field + " " + quote(value) + "\n")
        elif isinstance(value, (bool, int)):
            self.out.append(" " * depth + field + " " + str(value).lower() + "\n")
        else:
            self.out.append(" " * depth + field + "\n")
            for one in value if isinstance(value, list) else [value]:
                self.one(depth + 1, one)

    def one(self, depth, node):
        if node is None or isinstance(node, str):
            self.out.append(" " * depth + ("-" if node is None else quote(node)) + "\n")
            return
        name = type(node).__name__
        getattr(self, "on_" + name, self.plain)(depth, name, node)

    def plain(self, depth, name, node):
        same = {"orelse": "Else", "id": "ID", "ctx": None, "type_comment": None, "type_ignores": None,
                "finalbody": "Finally", "kind": None, "args": "Args", "context_expr": "Context", "exc": "Exc",
                "optional_vars": "Vars", "decorator_list": "Decorators", "simple": None, "asname": "AsName",
                "type_params": "TypeParams", "is_lazy": None}  # fmt: skip
        fields = {}
        for field, value in ast.iter_fields(node):
            field = same.get(field, field.capitalize())
            if field:
                if isinstance(value, ast.AST) and type(value).__name__ in OPS:
                    value = OPS[type(value).__name__]
                fields[field] = value
        self.node(depth, name, node, **fields)

    def function(self, depth, node, is_async):
        self.node(depth, "FunctionDef", node, Async=is_async, Name=node.name, Args=node.args, Body=node.body,
                  Decorators=node.decorator_list, Returns=node.returns,
                  TypeParams=getattr(node, "type_params", None))  # fmt: skip

    def on_FunctionDef(self, depth, name, node):
        self.function(depth, node, False)

    def on_AsyncFunctionDef(self, depth, name, node):
        self.function(depth, node, True)

    def on_ClassDef(self, depth, name, node):
        self.node(depth, name, node, Name=node.name, Bases=node.bases, Keywords=node.keywords, Body=node.body,
                  Decorators=node.decorator_list, TypeParams=getattr(node, "type_params", None))  # fmt: skip

    def on_For(self, depth, name, node, is_async=False):
        self.node(depth, "For", node, Async=is_async, Target=node.target, Iter=node.iter, Body=node.body,
                  Else=node.orelse)  # fmt: skip

    def on_AsyncFor(self, depth, name, node):
        self.on_For(depth, name, node, True)

    def on_With(self, depth, name, node, is_async=False):
        self.node(depth, "With", node, Async=is_async, Items=node.items, Body=node.body)

    def on_AsyncWith(self, depth, name, node):
        self.on_With(depth, name, node, True)

    def on_Try(self, depth, name, node, star=False):
        self.node(depth, "Try", node, Star=star, Body=node.body, Else=node.orelse, Finally=node.finalbody,
                  Handlers=node.handlers)  # fmt: skip

    def on_TryStar(self, depth, name, node):
        self.on_Try(depth, name, node, True)

    def on_ImportFrom(self, depth, name, node):
        self.node(depth, name, node, Module=node.module, Level=node.level, Names=node.names)

    def on_Expr(self, depth, name, node):
        self.node(depth, "ExprStmt", node, Value=node.value)

    def on_Constant(self, depth, name, node):
        value = node.value
        kind, text, content = type(value).__name__, None, None
        if kind in ("int", "float", "complex"):
            if not self.blind:
                text = self.lines[node.lineno - 1][node.col_offset : node.end_col_offset]
        elif kind in ("str", "bytes"):
            content = value
        else:
            kind = "..." if value is ... else str(value)
        self.node(depth, name, node, Kind=kind, Text=text, Value=content)

    def on_FormattedValue(self, depth, name, node):
        self.node(depth, "FormattedValue", node, Value=node.value, Format=node.format_spec)

    on_Interpolation = on_FormattedValue

    def on_TemplateStr(self, depth, name, node):
        self.node(depth, "JoinedStr", node, Values=node.values)

    def on_UnaryOp(self, depth, name, node):
        self.node(depth, name, node, Op=OPS[type(node.op).__name__], Operand=node.operand)

    def on_Compare(self, depth, name, node):
        ops = [OPS[type(op).__name__] for op in node.ops]
        self.node(depth, name, node, Left=node.left, Ops=ops, Comparators=node.comparators)

    def on_IfExp(self, depth, name, node):
        self.node(depth, name, node, Test=node.test, Body=node.body, Else=node.orelse)

    def on_Dict(self, depth, name, node):
        self.node(depth, name, node, Keys=node.keys, Values=node.values)

    def comp(self, depth, node, kind, elt, value=None):
        self.node(depth, "Comp", node, Kind=kind, Elt=elt, Value=value, Generators=node.generators)

    def on_ListComp(self, depth, name, node):
        self.comp(depth, node, "list", node.elt)

    def on_SetComp(self, depth, name, node):
        self.comp(depth, node, "set", node.elt)

    def on_GeneratorExp(self, depth, name, node):
        self.comp(depth, node, "generator", node.elt)

    def on_DictComp(self, depth, name, node):
        self.comp(depth, node, "dict", node.key, node.value)

    def on_comprehension(self, depth, name, node):
        self.node(depth, "Comprehension", None, Async=bool(node.is_async), Target=node.target, Iter=node.iter,
                  Ifs=node.ifs)  # fmt: skip

    def on_Yield(self, depth, name, node):
        self.node(depth, "Yield", node, Value=node.value)

    def on_YieldFrom(self, depth, name, node):
        self.node(depth, "Yield", node, From=True, Value=node.value)

    def on_keyword(self, depth, name, node):
        self.node(depth, "Keyword", node, Arg=node.arg, Value=node.value)

    def on_alias(self, depth, name, node):
        # CPython 3.9 has no positions of these
        self.node(depth, "Alias", None, Name=node.name, AsName=node.asname)

    def on_withitem(self, depth, name, node):
        self.node(depth, "WithItem", None, Context=node.context_expr, Vars=node.optional_vars)

    def on_ExceptHandler(self, depth, name, node):
        self.node(depth, name, node, Type=node.type, Name=node.name, Body=node.body)

    def on_match_case(self, depth, name, node):
        binds, uses = [], []
        self.pattern(node.pattern, binds, uses)
        uses.sort(key=lambda use: (use.lineno, use.col_offset))
        self.node(depth, "MatchCase", None, Binds=sorted(set(binds)), Uses=uses, Guard=node.guard, Body=node.body)

    def pattern(self, node, binds, uses):
        for field in ("name", "rest"):
            if getattr(node, field, None):
                binds.append(getattr(node, field))
        for field, value in ast.iter_fields(node):
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, ast.pattern):
                    self.pattern(one, binds, uses)
                elif isinstance(one, ast.expr):
                    uses.append(one)

    def on_arguments(self, depth, name, node):
        defaults = {}
        for params, values in ((node.posonlyargs + node.args, node.defaults), (node.kwonlyargs, node.kw_defaults)):
            for one, value in zip(reversed(params), reversed(values)):
                defaults[one] = value
        self.defaults = {**getattr(self, "defaults", {}), **defaults}
        self.node(depth, "Arguments", None, PosOnly=node.posonlyargs, Args=node.args, KwOnly=node.kwonlyargs,
                  VarArg=node.vararg, KwArg=node.kwarg)  # fmt: skip

    def on_arg(self, depth, name, node):
        self.node(depth, "Arg", node, Name=node.arg, Annotation=node.annotation, Default=self.defaults.get(node))

    def type_param(self, depth, node, stars):
        self.node(depth, "TypeParam", node, Stars=stars, Name=node.name, Bound=getattr(node, "bound", None),
                  Default=getattr(node, "default_value", None))  # fmt: skip

    def on_TypeVar(self, depth, name, node):
        self.type_param(depth, node, 0)

    def on_TypeVarTuple(self, depth, name, node):
        self.type_param(depth, node, 1)

    def on_ParamSpec(self, depth, name, node):
        self.type_param(depth, node, 2)


def dump(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        source = data.decode("utf-8-sig")
        tree = ast.parse(data)
        source = source.replace("\r\n", "\n").replace("\r", "\n")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return ascii(f"! {type(error).__name__} {error}")[1:-1]
    out = Dump(source)
    out.field(0, "Module", tree.body)
    return "".join(out.out)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(100000)
    print("all" if INSIDE else "blind")
    for name in sys.stdin.read().splitlines():
        text = dump(name)
        sys.stdout.write(f"{name}\n{len(text)}\n{text}\n")
