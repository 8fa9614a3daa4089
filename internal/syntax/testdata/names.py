"""Print which names of the module Python files read and bind, by CPython's symtable.

Reads paths from the standard input, one a line, and prints three lines for each: the names that any code in it reads,
those that it binds, and those of which symtable does not say whether a class reads the module's.
"""

import symtable
import sys
import warnings


def visit(table, reads, binds, unsure):
    kind = str(table.get_type()).lower().rpartition(".")[2]
    for symbol in table.get_symbols():
        name = symbol.get_name()
        assigned = symbol.is_assigned() or symbol.is_imported()
        if kind == "module":
            (reads if symbol.is_referenced() else set()).add(name)
            (binds if assigned or symbol.is_namespace() else set()).add(name)
        elif symbol.is_global() and not symbol.is_local():  # both are true in a function with the name top
            (reads if symbol.is_referenced() else set()).add(name)
            (binds if assigned else set()).add(name)
        elif kind == "class" and symbol.is_referenced():
            unsure.add(name)
        if kind == "class" and name.startswith("_") and "__" in name[1:]:
            unsure.add(name)  # a private name of the class, or a name that every class has
    for inner in table.get_children():
        visit(inner, reads, binds, unsure)


def names(path):
    with open(path, "rb") as file:
        table = symtable.symtable(file.read(), path, "exec")
    found = set(), set(), set()
    visit(table, *found)
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for path in sys.stdin.read().splitlines():
        try:
            found = names(path)
        except (SyntaxError, ValueError):
            found = {"!"}, set(), set()
        for one in found:
            print(*sorted(one))
