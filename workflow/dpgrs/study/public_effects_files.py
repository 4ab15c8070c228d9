"""Files of public effects, matched with the variants of a study."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpgrs.io.replicates import load_labelled, save_labelled


def save_effects(path: Path | str, files: Sequence[Mapping[str, Any]], values: Mapping[int, Any]) -> None:
    """Write public effects.

    Each public file has its ``name``, its ``digest``, SHA-256 in hexadecimal, whether it ``is_marginal``, and
    what was ``matched``, in words. The values are (n_files, n_variants) float64 effects per copy of ALT, by
    the number of variants.
    """
    items = [({"n_variants": size, "files": files}, {"values": own}) for size, own in values.items()]
    save_labelled(path, items)


def load_effects(path: Path | str | None) -> tuple[list[dict[str, Any]], dict[int, Any]]:
    """Read what `save_effects` wrote; nothing without a path."""
    if path is None:
        return [], {}
    items = load_labelled(path)
    return items[0][0]["files"], {label["n_variants"]: arrays["values"] for label, arrays in items}
