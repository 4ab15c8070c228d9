"""Which tests run which lines of a module: coverage.py looks on while they run on the code as it is."""

import ast
import json
import time

import coverage


class Watch:
    """Notes how long each test takes, and which lines of a module it runs."""

    def __init__(self, path):
        self._path, self._seconds = str(path), {}
        self._coverage = coverage.Coverage(data_file=None, include=[self._path], config_file=False)

    def run(self, items, outcomes):
        """Run tests until one fails; tell whether all passed.

        Parameters
        ----------
        items : list of tests.
        outcomes : iterator that runs the next of them, and tells whether it passes.
        """
        self._coverage.start()
        for item in items:
            self._coverage.switch_context(item.nodeid)
            began = time.monotonic()
            if not next(outcomes):
                return False
            self._seconds[item.nodeid] = time.monotonic() - began
        self._coverage.stop()
        return True

    def write(self, path):
        lines = self._coverage.get_data().contexts_by_lineno(self._path)
        path.write_text(json.dumps({"seconds": self._seconds, "lines": lines}))


class Guards:
    """The tests of a module, by its lines."""

    def __init__(self, noted, source):
        noted = json.loads(noted.read_text())
        self._seconds, self._lines = noted["seconds"], noted["lines"]
        self._statements = _statements(source)

    def of(self, line):
        """Return the names of the tests that run the statement of a line, the quickest first."""
        statement = self._statements.get(line, [line])
        return self._sorted({test for one in statement for test in self._lines.get(str(one), [])})

    def all(self):
        """Return the names of all tests, the quickest first."""
        return self._sorted(self._seconds)

    def seconds(self, tests):
        """Return how long some tests take."""
        return sum(self._seconds[test] for test in tests)

    def _sorted(self, tests):
        return sorted(tests, key=lambda test: (self._seconds[test], test))


def _statements(source):
    """Return the lines of the statement that each line is of; of a function's head, the lines of its body."""
    statements = {}
    for node in ast.walk(ast.parse(source)):  # the outer before the inner ones
        if not isinstance(node, ast.stmt):
            continue
        whole = range(node.lineno, node.end_lineno + 1)
        body = getattr(node, "body", None)
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        head = range(first, body[0].lineno) if body else whole
        inside = range(head.stop, whole.stop) if isinstance(node, ast.FunctionDef) else head
        statements |= dict.fromkeys(head, inside)
    return statements
