"""JSON that a step wrote for a later one; a killed job or a copied folder may have left half of it."""

import json
from pathlib import Path
from typing import Any

from dpgrs.io.files import RUN_AGAIN, not_as_written, read_bytes, write_text


def write_json(path: Path | str, value: Any) -> None:
    """Write a dict or a list for a later step, with its digest beside it."""
    write_text(path, json.dumps(value, indent=2) + "\n")


def read_json(path: Path | str, *, kind: type = dict, fix: str = RUN_AGAIN) -> Any:
    """Read a file of JSON that dpgrs wrote, whose value is of a kind, dict or list; `fix` is the remedy."""
    try:
        content = json.loads(read_bytes(path).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        content = None
    if not isinstance(content, kind):
        raise not_as_written(path, kind="JSON", fix=fix)
    return content
