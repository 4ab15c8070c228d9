"""List the unit tests that need nothing of the papers' package: `make test-core` runs them without it."""

import re
from pathlib import Path

TESTS = Path(__file__).parent
# What the reference pages of commands show, and what only the whole repository holds.
OF_ALL = {"test_project_files", "test_cli"}


def names_of_papers(folder):
    """Return the names of methods and selectors that a package adds, by its `entry_points.txt`."""
    sections = (folder / "entry_points.txt").read_text(encoding="utf-8").split("[dpgrs.")
    added = "\n".join(one for one in sections if one.startswith(("methods", "selectors")))
    return re.findall(r"(?m)^([\w-]+) =", added)


def core_tests(tests=TESTS):
    """Return the files that name none of it, nor import a module of tests that does, a sorted list."""
    [folder] = tests.parent.glob("workflow/dpgrs_papers-*.dist-info")
    named = re.compile(rf"(?<![\w-])({'|'.join(names_of_papers(folder))})(?![\w-])|dpgrs_papers")
    needing = {path.stem for path in tests.glob("*.py") if named.search(_code(path))}
    while more := {
        path.stem for path in tests.glob("*.py") if _imports(path) & needing and path.stem not in needing
    }:
        needing |= more
    files = sorted((tests / "unit").glob("test_*.py"))
    return [
        path
        for path in files
        if not (named.search(_code(path)) or _imports(path) & needing or path.stem in OF_ALL)
    ]


def _code(path):
    return path.read_text(encoding="utf-8")


def _imports(path):
    return set(re.findall(r"(?m)^(?:from|import) (\w+)", _code(path)))


if __name__ == "__main__":
    print(*(path.relative_to(TESTS.parent) for path in core_tests()))
