"""Which tests run which lines of the packages: coverage.py looks on while they run on the code as it is."""

import ast
import hashlib
import json
import time
from bisect import bisect_right
from collections import defaultdict
from itertools import accumulate
from pathlib import Path

import coverage


class Notes:
    """What was seen of the tests, kept in a folder until the packages or their own file change.

    Parameters
    ----------
    folder : pathlib.Path
    packages : list of pathlib.Path
        Their folders.
    longest : float
        Seconds of tests that a mutant meets at most.
    """

    def __init__(self, folder, packages, *, longest):
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._packages, self._longest = folder, packages, longest
        self._code = _digest(*(path for package in packages for path in sorted(package.rglob("*.py"))))

    def lack(self, file):
        """Tell whether nothing is noted of a file of tests, or of another state of it or of the packages."""
        return self._seen(file).get("state") != [self._code, _digest(file)]

    def watch(self, file, items, outcomes):
        """Run the tests of a file; note how long each takes, and which lines it runs.

        Parameters
        ----------
        file : pathlib.Path
        items : list of tests.
        outcomes : iterator that runs the next of them, and tells whether it passes. Those that do not are
            left out.
        """
        seen, lines = self._paths(file)
        seen.unlink(missing_ok=True)
        lines.unlink(missing_ok=True)
        include = [f"{package}/*" for package in self._packages]
        watch = coverage.Coverage(data_file=str(lines), include=include, config_file=False)
        watch.set_option("run:disable_warnings", ["no-data-collected"])  # of tests that read the code as text
        seconds = {}
        watch.start()
        for item in items:
            watch.switch_context(item.nodeid)
            began = time.monotonic()
            if next(outcomes):
                seconds[item.nodeid] = time.monotonic() - began
        watch.stop()
        watch.save()
        state = [self._code, _digest(file)]
        seen.write_text(json.dumps({"file": str(file), "state": state, "seconds": seconds}))

    def guards(self, path, source):
        """Return the Guards of a module."""
        seconds, lines = {}, defaultdict(list)
        for file in self._folder.glob("*.json"):
            seen = json.loads(file.read_text())
            if seen["state"][0] != self._code or not Path(seen["file"]).exists():
                continue
            own, data = seen["seconds"], coverage.CoverageData(str(file.with_suffix(".coverage")))
            data.read()
            for line, tests in data.contexts_by_lineno(str(path)).items():
                lines[line] += own.keys() & tests
            seconds |= own
        return Guards(seconds, lines, source, own=f"/test_{path.stem}", longest=self._longest)

    def _seen(self, file):
        path, _ = self._paths(file)
        return json.loads(path.read_text()) if path.exists() else {}

    def _paths(self, file):
        """Return where is kept how long tests take, and which lines they run."""
        name = f"{file.parent.name}.{file.stem}"
        return self._folder / f"{name}.json", self._folder / f"{name}.coverage"


class Guards:
    """The tests of a module, by its lines: dict of test to seconds, and of line to tests.

    Those whose names have `own` come first, then the quickest, within `longest` seconds.
    """

    def __init__(self, seconds, lines, source, *, own, longest):
        self._seconds, self._lines = seconds, lines
        self._own, self._longest = own, longest
        self._statements = _statements(source)

    def of(self, line):
        """Return the names of the tests that run the statement of a line, the first to run first."""
        statement = self._statements.get(line, [line])
        return self._first({test for one in statement for test in self._lines.get(one, [])})

    def all(self):
        """Return the names of tests that run any line, likewise."""
        return self._first({test for tests in self._lines.values() for test in tests})

    def seconds(self, tests):
        """Return how long some tests take."""
        return sum(self._seconds[test] for test in tests)

    def _first(self, tests):
        tests = sorted(tests, key=lambda test: (self._own not in test, self._seconds[test], test))
        ends = list(accumulate(self._seconds[test] for test in tests))
        return tests[: max(1, bisect_right(ends, self._longest))]


def _digest(*files):
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


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
