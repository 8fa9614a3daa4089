"""%mlrun and %%mlrun."""

from __future__ import annotations

from ._line_profiler import DEFAULT_COLUMNS, LineProfiler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import Shell


def _usage(sentence: str) -> Exception:
    from IPython.core.error import UsageError
    error: Exception = UsageError(sentence)
    return error


def _parser() -> Any:
    from IPython.core.magic_arguments import MagicArgumentParser
    parser = MagicArgumentParser(prog="%mlrun", add_help=False)
    parser.add_argument(
        "-f", "--function", metavar="FUNC", action="append", default=[], help="profile this function; again for more"
    )
    parser.add_argument(
        "-c", "--column", metavar="COLS", action="append", default=[], help="show this column, too; again for more"
    )
    parser.add_argument("-D", "--no_default_columns", action="store_true", help="hide the default columns")
    parser.add_argument("-r", "--return-profiler", action="store_true", help="return the profiler")
    parser.add_argument("-g", "--gpu", metavar="GPU_ID", default=0, type=int, help="the GPU, as CUDA numbers it")
    parser.add_argument("-q", "--quiet", action="store_true", help="show nothing")
    parser.add_argument("-T", "--dump-profile", metavar="OUTPUT", help="write the text to this file, too")
    parser.add_argument("statement", nargs="*", help="what to run, without %%%%mlrun")
    return parser


def mlrun(line: str = "", cell: str | None = None, local_ns: dict[str, Any] | None = None) -> Any:
    """Run a statement, or with %%mlrun a cell, and show the memory that the lines of functions took:

        %mlrun -f FUNC [-f FUNC] [-c COLUMN] [-D] [-r] [-g GPU] [-q] [-T FILE] STATEMENT
    """
    from IPython import get_ipython
    shell = get_ipython()
    arguments = _parser().parse_argstring(line)
    names = shell.user_ns if local_ns is None else local_ns
    functions = []
    for name in arguments.function:
        try:
            functions.append(eval(name, shell.user_global_ns, names))
        except NameError as error:
            raise _usage("Could not find function %r: %s" % (name, error)) from None
    profiler = LineProfiler(*functions, target_gpu=arguments.gpu)
    source = cell if cell is not None else " ".join(arguments.statement)
    code = compile(shell.transform_cell(source), "<ipython>", "exec", dont_inherit=True)
    with profiler:
        exec(code, shell.user_global_ns, names)
    columns = (() if arguments.no_default_columns else DEFAULT_COLUMNS) + tuple(arguments.column)
    shown = profiler.display(columns=columns)
    if arguments.dump_profile is not None:
        try:
            with open(arguments.dump_profile, "w") as f:
                f.write(str(shown))
        except OSError as error:
            raise _usage("%s: %s" % (arguments.dump_profile, error.strerror)) from None
    if arguments.return_profiler:
        return profiler
    return None if arguments.quiet else shown


def load_ipython_extension(shell: Shell) -> None:
    """Load the extension: %load_ext ipytracer.compat.pytorch_memlab calls this."""
    from IPython.core.magic import needs_local_scope
    shell.register_magic_function(needs_local_scope(mlrun), "line_cell", "mlrun")


def unload_ipython_extension(shell: Shell) -> None:
    """Unload the extension: %unload_ext calls this."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("mlrun", None)
