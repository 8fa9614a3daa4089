"""The imports between modules of the package: none in circles, and only shims for older tools import shims."""

import ast
import os
import unittest

_SRC = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src")


def modules():
    """Return {module: (its tree, whether it is a package)} of everything in the package."""
    found = {}
    for folder, _, names in os.walk(os.path.join(_SRC, "ipytracer")):
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                parts = os.path.relpath(path, _SRC)[:-len(".py")].split(os.sep)
                package = parts[-1] == "__init__"
                with open(path, encoding="utf-8") as f:
                    found[".".join(parts[:-1] if package else parts)] = ast.parse(f.read()), package
    return found


def nodes(tree, types):
    """Yield everything in a module; types: include code for type checkers only."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if (
            not types
            and isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        ):
            waiting += node.orelse
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def imported(name, tree, package, known, types):
    """Return the modules of the package that a module imports, anywhere in it."""
    found = set()
    for node in nodes(tree, types):
        if isinstance(node, ast.Import):
            found.update(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = name.split(".") if package else name.split(".")[:-1]
            base = above[:len(above) - node.level + 1] if node.level else []
            base = ".".join(base + (node.module.split(".") if node.module else []))
            for one in node.names:
                inner = base + "." + one.name
                found.add(inner if inner in known else base)
    return {one for one in found if one in known and one != name}


class Imports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        known = modules()
        cls.graph, cls.with_types = (
            {name: imported(name, tree, package, known, types) for name, (tree, package) in known.items()}
            for types in (False, True)
        )

    def test_what_is_seen(self):
        self.assertNotIn("ipytracer._types", self.graph["ipytracer._api"])
        self.assertIn("ipytracer._types", self.with_types["ipytracer._show"])
        self.assertIn("ipytracer._line", self.graph["ipytracer._api"])
        self.assertIn("ipytracer._magic", self.graph["ipytracer._shell"])        # within a function
        self.assertIn("ipytracer.compat._cells", self.graph["ipytracer.compat.memwatcher"])

    def test_no_circle(self):
        done = set()

        def follow(name, way):
            self.assertNotIn(name, way, "a circle: " + " → ".join([*way, name]))
            if name not in done:
                for one in sorted(self.graph[name]):
                    follow(one, [*way, name])
                done.add(name)

        for name in sorted(self.graph):
            follow(name, [])

    def test_nothing_imports_the_shims(self):
        """Users of a shim import it by its name."""
        shims = "ipytracer.compat"
        for name, found in self.with_types.items():
            if not name.startswith(shims):
                self.assertEqual([one for one in found if one.startswith(shims)], [], name)


if __name__ == "__main__":
    unittest.main()
