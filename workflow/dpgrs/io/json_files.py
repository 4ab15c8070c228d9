"""JSON that a step wrote for a later one; a killed job or a copied folder may have left half of it."""

import json

from dpgrs.io.files import RUN_AGAIN, not_as_written, read_bytes, write_text


def write_json(path, value):
    """Write a dict or a list for a later step, with its digest beside it."""
    write_text(path, json.dumps(value, indent=2) + "\n")


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
        value = json.loads(read_bytes(path).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise not_as_written(path, kind="JSON", fix=fix)
    return value
