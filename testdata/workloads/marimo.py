"""A stand-in for `marimo edit` (0.24): a server whose kernel, a spawned process, runs cells as marimo's does. marimo
itself is not in Debian. These are as in marimo:

- a cell is compiled to two code objects with the file name TMPDIR/marimo_PID/__marimo__cell_ID_.py, its body and its
  last expression, which is None where the cell ends with a statement; its text goes to linecache
- a cell that is not edited is compiled once, however often it runs
- execute_cell_async runs exec(body), or awaits eval(body) if that is a coroutine, and then the same with the
  expression; execute_cell does not await
- names of cells are those of a module of their own, `__main__`
- a control loop of asyncio calls them, through a runner with hooks behind each cell

    python3 marimo.py edit      says {"pid": of the kernel}; takes {"id", "code", "sync"} a line, says {"status"}

Memory that the kernel takes behind each cell, HOOK bytes, must be in no cell.
"""

import ast
import asyncio
import dataclasses
import inspect
import json
import linecache
import multiprocessing
import os
import sys
import tempfile
import types

HOOK = 96 << 20


@dataclasses.dataclass(frozen=True)
class CellImpl:
    """A compiled cell, with as many attributes as marimo's."""

    key: int
    code: str
    mod: ast.Module
    defs: set
    refs: set
    sql_refs: dict
    temporaries: set
    variable_data: dict
    deleted_refs: set
    body: object
    last_expr: object
    language: str
    cell_id: str
    closed_over_temporaries: set = dataclasses.field(default_factory=set)
    markdown: object = None
    config: dict = dataclasses.field(default_factory=dict)
    import_workspace: dict = dataclasses.field(default_factory=dict)
    _status: list = dataclasses.field(default_factory=list)
    _run_result_status: list = dataclasses.field(default_factory=list)
    _stale: list = dataclasses.field(default_factory=list)
    _output: list = dataclasses.field(default_factory=list)
    _test: bool = False


class MarimoRuntimeError(Exception):
    pass


class MarimoStopError(BaseException):
    """What mo.stop() raises."""


class MarimoInterrupt(KeyboardInterrupt):
    """What marimo's handler of SIGINT raises."""


def file_name(cell_id):
    directory = os.path.join(tempfile.gettempdir(), "marimo_%d" % os.getpid())
    return os.path.join(directory, "__marimo__cell_%s_.py" % cell_id)


def compile_cell(code, cell_id):
    module = ast.parse(code)
    original = ast.parse(code)
    last = module.body[-1]
    if isinstance(last, ast.Expr) and not code.rstrip().endswith(";"):
        module.body.pop()
        expression = ast.Expression(last.value)
    else:
        line = len(code.splitlines()) + 1
        expression = ast.Expression(ast.Constant(value=None, lineno=line, end_lineno=line, col_offset=0))
    file = file_name(cell_id)
    linecache.cache[file] = (len(code), None, [line + "\n" for line in code.splitlines()], file)
    ast.fix_missing_locations(expression)
    body, last_expr = (
        compile(part, file, kind, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        for part, kind in ((module, "exec"), (expression, "eval"))
    )
    return CellImpl(hash(code), code, original, set(), set(), {}, set(), {}, set(), body, last_expr, "python", cell_id)


def is_coroutine(code):
    return bool(code.co_flags & inspect.CO_COROUTINE)


class Executor:
    def execute_cell(self, cell, glbls):
        try:
            exec(cell.body, glbls)
            return eval(cell.last_expr, glbls)
        except BaseException as e:
            raise MarimoRuntimeError from e

    async def execute_cell_async(self, cell, glbls):
        try:
            if is_coroutine(cell.body):
                await eval(cell.body, glbls)
            else:
                exec(cell.body, glbls)
            if is_coroutine(cell.last_expr):
                return await eval(cell.last_expr, glbls)
            return eval(cell.last_expr, glbls)
        except BaseException as e:
            raise MarimoRuntimeError from e


class Kernel:
    def __init__(self):
        self.executor, self.cells = Executor(), {}
        module = sys.modules["__main__"] = types.ModuleType("__main__")
        self.glbls = module.__dict__
        self.glbls.update(embed=self.embed, MarimoStopError=MarimoStopError, MarimoInterrupt=MarimoInterrupt)

    def compiled(self, cell_id, code):
        known = self.cells.get(cell_id)
        if known is None or known.code != code:
            known = self.cells[cell_id] = compile_cell(code, cell_id)
        return known

    async def embed(self, cell_id, code):
        """Runs a cell of another app within a cell, as `await app.embed()`."""
        return await self.executor.execute_cell_async(self.compiled(cell_id, code), self.glbls)

    async def run(self, request):
        cell = self.compiled(request["id"], request["code"])
        status = "ok"
        try:
            if request.get("sync"):
                self.executor.execute_cell(cell, self.glbls)
            else:
                await self.executor.execute_cell_async(cell, self.glbls)
        except MarimoRuntimeError as e:
            status = type(e.__cause__).__name__
        bytearray(HOOK)
        return {"status": status}

    async def control_loop(self, line):
        loop = asyncio.get_running_loop()
        while True:
            request = await loop.run_in_executor(None, line.recv)
            if request is None:
                return
            line.send(await self.run(request))


def launch_kernel(line):
    line.send({"pid": os.getpid()})
    asyncio.run(Kernel().control_loop(line))


def edit():
    here, there = multiprocessing.Pipe()
    kernel = multiprocessing.get_context("spawn").Process(target=launch_kernel, args=(there,), daemon=False)
    kernel.start()
    print(json.dumps(here.recv()), flush=True)
    for text in sys.stdin:
        here.send(json.loads(text))
        print(json.dumps(here.recv()), flush=True)
    here.send(None)
    kernel.join()


if __name__ == "__main__":
    edit()
