"""The record of what a study was asked to do."""

from pathlib import Path

from dpgrs.io.files import write_text


def write_settings(settings: str, *, output: Path) -> None:
    """Record the resolved settings of a study.

    Parameters
    ----------
    settings : the resolved settings, JSON.
    output : the record to write.
    """
    write_text(output, f"{settings}\n")
