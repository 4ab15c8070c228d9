"""The record of how results came about."""

from pathlib import Path

from dpgrs.config.study import StudyConfig
from dpgrs.io.json_files import read_json, write_json
from dpgrs.study.provenance import provenance


def write_provenance(settings: Path, results: list[Path] = (), *, output: Path) -> None:
    """Record versions, commit, command, settings and digests of a run.

    Parameters
    ----------
    settings : the resolved settings, JSON.
    results : files to record the digests of.
    output : the record to write, JSON.
    """
    write_json(output, provenance(StudyConfig.of(read_json(settings)), results))
