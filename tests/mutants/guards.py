"""Which tests run which lines of a module: coverage.py looks on while they run on the code as it is."""

import ast
import json
import time

import coverage
import pytest

IMPORTED = ""  # the context of lines that run while a module is imported


class Watch:
    """A plugin of pytest that notes how long each test takes, and which lines of a module it runs."""

    def __init__(self, path):
        self._path, self._seconds = str(path), {}
        self._coverage = coverage.Coverage(data_file=None, include=[self._path], config_file=False)
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self._coverage.switch_context(item.nodeid)
        began = time.monotonic()
        try:
            return (yield)
        finally:
            self._seconds[item.nodeid] = time.monotonic() - began
            self._coverage.switch_context(IMPORTED)

    def write(self, path):
        self._coverage.stop()
        lines = self._coverage.get_data().contexts_by_lineno(self._path)
        path.write_text(json.dumps({"seconds": self._seconds, "lines": lines}))


class Guards:
    """The tests of a module, by its lines."""

    def __init__(self, seen, source):
        noted = json.loads(seen.read_text())
        self._seconds, self._lines = noted["seconds"], noted["lines"]
        self._statements = _statements(source)

    def of(self, line):
        """Return the names of the tests that run the statement of a line, the quickest first."""
        statement = self._statements.get(line, [line])
        found = {test for one in statement for test in self._lines.get(str(one), [])}
        return sorted(self._seconds if IMPORTED in found else found, key=self._seconds.get)

    def seconds(self, files):
        """Return how long all tests of some files take."""
        return sum(each for test, each in self._seconds.items() if test.partition("::")[0] in files)


class Order:
    """A plugin of pytest that runs some tests before the others of their files.

    The others run, too: tests of a file may share what the first of them has made.
    """

    def __init__(self, tests):
        self._places = {test: place for place, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda item: self._places.get(item.nodeid, len(self._places)))


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
