"""How results came about: versions, commit, command, digests."""

import datetime
import hashlib
import importlib.metadata
import json
import os
import platform
import socket
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dpgrs
from dpgrs.io.files import file_digest
from dpgrs.study.code import PACKAGE, package_digest
from dpgrs.study.people_terms import n_copies

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

LIBRARIES = (
    *("numpy", "scipy", "numba", "pandas", "zarr", "cyvcf2", "pysam", "pgenlib"),
    *("matplotlib", "snakemake"),
)


def settings_digest(settings: "StudyConfig") -> str:
    """Digest resolved settings, whatever the order of their keys."""
    return hashlib.sha256(json.dumps(settings.as_dict(), sort_keys=True).encode()).hexdigest()


def stamp(settings: "StudyConfig") -> str:
    """Return the words that mark everything made in benchmark mode; empty in release mode."""
    if settings.mode != "benchmark":
        return ""
    return "benchmark: not private" + (", of copies of people" if n_copies(settings) is not None else "")


def provenance(settings: "StudyConfig", outputs: Iterable[Path | str]) -> dict[str, Any]:
    """Describe a run, ready for JSON, with the digests of its outputs.

    Only this file has time, host and command; pages never hold them.
    """
    return {
        "study": settings.study,
        "mode": settings.mode,
        "stamp": stamp(settings),
        "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "host": socket.gethostname(),
        "command": os.environ.get("DPGRS_COMMAND"),
        "dpgrs": dpgrs.__version__,
        "commit": _commit(),
        "code_digest": package_digest(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "libraries": {name: version for name in LIBRARIES if (version := _version(name)) is not None},
        "settings_digest": settings_digest(settings),
        "settings": settings.as_dict(),
        "outputs": {Path(path).name: file_digest(path) for path in outputs},
    }


def _commit() -> str | None:
    """Return the checkout's commit, marked if files were changed since; None outside a checkout.

    A package that is installed inside a repository of something else is in none of its commits.
    """
    try:
        _git("ls-files", "--error-unmatch", "__init__.py")
        return _git("describe", "--always", "--abbrev=40", "--dirty", "--exclude=*").strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(*arguments: str) -> str:
    # A hook of another repository names that one in variables.
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    options = {"capture_output": True, "text": True, "check": True, "env": variables}
    return subprocess.run(["git", "-C", str(PACKAGE), *arguments], **options).stdout


def _version(name: str) -> str | None:
    """Return the version of a library; None if it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
