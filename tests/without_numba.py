"""Kernels as they are where numba is not installed, and a Python that lacks the libraries of the extras."""

import importlib.util
import os
import subprocess
import sys
from unittest import mock

from dpgrs.cli.main import EXTRAS
from dpgrs.genotypes import compiled

HIDDEN = (*EXTRAS["score"], *EXTRAS["workflow"])
COMMAND = f"""
import sys
sys.modules.update(dict.fromkeys({HIDDEN!r}))
from dpgrs.cli.main import main
main()
"""


def plain(module):
    """Return a copy of a module of kernels, made as if numba were not installed."""
    specification = importlib.util.find_spec(module.__name__)
    copy = importlib.util.module_from_spec(specification)
    with mock.patch.object(compiled, "numba", None):
        specification.loader.exec_module(copy)
    return copy


def run_base(*arguments, folder):
    """Run dpgrs with the libraries of its base only, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", COMMAND, *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
