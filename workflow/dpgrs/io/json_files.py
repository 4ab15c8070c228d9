"""JSON that a step wrote for a later one; a killed job or a copied folder may have left half of it."""

import json
from pathlib import Path

from dpgrs.errors import DpgrsError

RUN_AGAIN = "Remove it, and run the study again."


def read_json(path, *, kind=dict, fix=RUN_AGAIN):
    """Read a file of JSON that dpgrs wrote.

    Parameters
    ----------
    path : the file.
    kind : type of its value: dict or list.
    fix : str, how to mend it, for the message.

    Raises
    ------
    DpgrsError
        If the file is missing, cut off, damaged or of another kind.
    """
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise DpgrsError(f"`{path}` must be JSON that dpgrs wrote, but is missing, cut off or damaged. {fix}")
    return value
