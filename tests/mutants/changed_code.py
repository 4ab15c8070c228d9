"""Put changed code in the place of a module that is imported: by function, or by importing it anew."""

import gc
import importlib.util
import re
import sys
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType


def functions_of(path):
    """Return all functions that an imported module has made.

    Parameters
    ----------
    path : pathlib.Path
    """
    gc.unfreeze()  # what is frozen is not listed
    functions = [one for one in gc.get_objects() if isinstance(one, FunctionType)]
    return [one for one in functions if one.__code__.co_filename == str(path)]


def changed_functions(path, source, changed, functions):
    """Return the new code of the functions that a change is in, or None where it is outside of functions.

    Parameters
    ----------
    path : pathlib.Path
        The module, imported.
    source, changed : str
        Its text as it is, and as it is to be.
    functions : list of functions, see `functions_of`.

    Returns
    -------
    list of (function, code), or None
    """
    old, new = (compile(text, str(path), "exec") for text in (source, changed))
    codes = {}
    if not _match(old, new, codes):
        return None
    found = [(one, codes[_place(one.__code__)]) for one in functions if _place(one.__code__) in codes]
    return found if {_place(one.__code__) for one, _ in found} == codes.keys() else None


def _match(old, new, codes):
    """Note by its place the new code of every function that differs; tell whether nothing else does."""
    if old.co_flags & 0x2:  # a function: CO_NEWLOCALS
        if _texts(old) == _texts(new):
            return True
        # Its inner functions are constants of its own.
        fits = old.co_freevars == new.co_freevars and _place(old) not in codes
        codes[_place(old)] = new
        return fits
    if old.co_code != new.co_code or old.co_names != new.co_names or len(old.co_consts) != len(new.co_consts):
        return False
    return all(
        _match(one, other, codes)
        if isinstance(one, CodeType) and isinstance(other, CodeType)
        else (type(one), one) == (type(other), other)
        for one, other in zip(old.co_consts, new.co_consts, strict=True)
    )


def _texts(code):
    """Return all that decides what a code does."""
    constants = [
        _texts(one) if isinstance(one, CodeType) else (type(one), repr(one)) for one in code.co_consts
    ]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, constants


def _place(code):
    return code.co_qualname, code.co_firstlineno


class ChangedModule(MetaPathFinder, SourceFileLoader):
    """Import a module from changed code.

    Parameters
    ----------
    path : pathlib.Path
        The module.
    code : str
        Its text.
    folder : pathlib.Path
        The one that holds the packages.
    """

    def __init__(self, path, code, *, folder):
        name = ".".join(path.relative_to(folder).with_suffix("").parts)
        SourceFileLoader.__init__(self, name, str(path))
        self._code = code

    def install(self):
        """Forget the module and all that import it, so that they are imported anew."""
        for name in _importers(self.name):
            package, _, leaf = name.rpartition(".")
            del sys.modules[name]
            if package in sys.modules:
                delattr(sys.modules[package], leaf)
        sys.meta_path.insert(0, self)

    def find_spec(self, fullname, path=None, target=None):
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def get_data(self, path):
        return self._code.encode()

    def path_stats(self, path):
        raise OSError  # nothing of it is read from or written to a cache

    def set_data(self, *_, **__):
        pass


@cache
def _importers(name):
    """Return the imported modules that would not notice a change of one: itself and all that import it."""
    found, before = {name}, set()
    while found != before:
        before = set(found)
        found |= {one for one, imported in _imports().items() if imported & before}
    return found & sys.modules.keys()


@cache
def _imports():
    return {
        name: set(_names(Path(module.__file__).read_text()))
        for name, module in sys.modules.items()
        if name.startswith(("dpgrs.", "dpgrs_papers."))
    }


def _names(source):
    for package, names in re.findall(
        r"(?:from|import) (dpgrs[\w.]*)(?: import ([^(\n]+|\([^)]*\)))?", source
    ):
        yield package
        yield from (f"{package}.{name}" for name in re.findall(r"\w+", names))
