"""Which code a step runs: its module, all that this imports, and the templates and schemas that they read."""

import hashlib
import re
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# Beside the package in a clone; `setup.py` puts it, and the rules, below the package of a wheel.
BESIDE, BELOW = PACKAGE.parent / "Snakefile", PACKAGE / "clone" / "workflow" / "Snakefile"
SNAKEFILE = BELOW if BELOW.is_file() else BESIDE
# Every job reads every module that a rule may reach: a syntax tree of each would take half a second.
IMPORT = re.compile(
    r"^[ \t]*(?:from (dpgrs[.\w]*) import (\([^)]*\)|.*)|import (dpgrs[.\w]*))", flags=re.MULTILINE
)
TEXT = re.compile(r'"([\w./]+)"')
# A row of a registry names a function or a class so, of a module beside it or below.
PLACE = re.compile(r'"(\w+(?:\.\w+)*)\.\w+"')


def code_digest(*modules, package=PACKAGE):
    """Digest the code that a rule runs, so that an update of that code reruns it, and no other update does.

    Imports inside functions count as well, and for who imports ``named`` from a registry all that its rows
    name. A file that is no module counts where a module has its path, or that of its folder, from a folder of
    the package on, as one text.

    Parameters
    ----------
    *modules : str, relative to the package, such as ``"steps/fit.py"``.
    package : Path

    Returns
    -------
    str of 16 hexadecimal digits.

    Raises
    ------
    FileNotFoundError
        If there is no such module.
    """
    return _digest(reached_files(*modules, package=package), package)


def package_digest(package=PACKAGE):
    """Digest all code, as `code_digest` does that of a rule."""
    return _digest({file for file in package.rglob("*") if _is_source(file)}, package)


def reached_files(*modules, package=PACKAGE):
    """Return the files that modules run and read, themselves among them.

    Parameters
    ----------
    *modules, package : as in `code_digest`.

    Returns
    -------
    set of Path
    """
    reached, waiting = set(), {package / module for module in modules}
    while waiting:
        file = waiting.pop()
        reached.add(file)
        waiting |= _named_in(file, package) - reached
    return reached


@cache
def _named_in(file, package):
    """Return the files that a module imports or reads."""
    if file.suffix != ".py":
        return frozenset()
    text, named = file.read_text(encoding="utf-8"), set()
    for source, names, whole in IMPORT.findall(text):
        place = package.joinpath(*(source or whole).split(".")[1:])
        # What is imported may be a module, or stand in one.
        places = [place, *(place / name for name in re.findall(r"\w+", names))]
        named |= {path for one in places for path in (one.with_suffix(".py"), one / "__init__.py")}
        if "named" in re.findall(r"\w+", names):
            rows = place.with_suffix(".py").read_text(encoding="utf-8")
            below = (module.replace(".", "/") for module in PLACE.findall(rows))
            named |= {place.parent / f"{path}.py" for path in below} | _of_other_packages()
    texts = {found for found in TEXT.findall(text) if "/" in found or found.isidentifier()}
    named |= {path for path, tails in _other_files(package).items() if tails & texts}
    return frozenset(path for path in named if path.is_file())


@cache
def _of_other_packages():
    """Return the modules of other packages that name rows of registries, a set."""
    groups = (f"dpgrs.{name}" for name in ("methods", "selectors"))
    modules = {point.module for group in groups for point in entry_points(group=group)}
    return {Path(find_spec(module).origin) for module in modules}


@cache
def _other_files(package):
    """Map every file that is no module to the ends of its path and of its folder's: so code names it."""
    files = {}
    for path in package.rglob("*"):
        if _is_source(path) and path.suffix != ".py":
            parts = path.relative_to(package).parts
            folders = parts[:-1]
            files[path] = {"/".join(parts[start:]) for start in range(len(folders))}
            files[path] |= {"/".join(folders[start:]) for start in range(len(folders))}
    return files


def _is_source(path):
    return path.is_file() and "__pycache__" not in path.parts


def _digest(files, package):
    digest = hashlib.sha256()
    own = {file: file.relative_to(package).as_posix() for file in files if file.is_relative_to(package)}
    for name, file in sorted((own.get(file, file.name), file) for file in files):
        digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
