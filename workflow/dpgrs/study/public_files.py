"""Files of public effects, matched with the variants of a study, and of public linkage disequilibrium."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.replicates import load_labelled, save_labelled
from dpgrs.linalg.public_ld import PublicLd

# A file of effects, perhaps after an outcome: the name that comes before what tells its kind.
NAMED_AFTER = re.compile(r"(.*?)(?:\.(?:txt|tsv|csv))?(?:\.gz)?")


def outcome_stem(name: str) -> str:
    """Return what a file of effects is named after, perhaps an outcome as `file_stems` writes it."""
    return NAMED_AFTER.fullmatch(name)[1]


def files_named(stem: str, names: Sequence[str]) -> list[int]:
    """Return the places of the files that are named after an outcome, whose name as a file is the stem."""
    return [index for index, name in enumerate(names) if outcome_stem(name) == stem]


def save_effects(path: Path | str, files: Sequence[Mapping[str, Any]], values: Mapping[int, Any]) -> None:
    """Write public effects.

    Each public file has its ``name``, its ``digest``, SHA-256 in hexadecimal, whether it ``is_marginal``, and
    the counts of ``matched`` variants, in words. The values are (n_files, n_variants) float64 effects per
    copy of ALT, by the number of variants.
    """
    items = [({"n_variants": size, "files": files}, {"values": effects}) for size, effects in values.items()]
    save_labelled(path, items)


def load_effects(path: Path | str | None) -> tuple[list[dict[str, Any]], dict[int, Any]]:
    """Read what `save_effects` wrote; nothing without a path."""
    if path is None:
        return [], {}
    items = load_labelled(path)
    return items[0][0]["files"], {label["n_variants"]: arrays["values"] for label, arrays in items}


def effects_to_subtract(path: Path | str, stems: Mapping[str, str]) -> dict[int, dict[str, Any]]:
    """Return by number of variants the effects of the one file of each outcome; another number is refused.

    `stems` are names of files by outcome. Outcomes are in the order of their names, so that settings which
    list them in another order have the same map, and so the same request.
    """
    files, values = load_effects(path)
    names = [file["name"] for file in files]
    file_indices = {outcome: files_named(stem, names) for outcome, stem in sorted(stems.items())}
    for outcome, named in file_indices.items():
        if len(named) != 1:
            raise DpgrsError(
                "public-effects-file-missing",
                f"`public.effects` must have one file named after {outcome} of `public.subtract`, got "
                f"{len(named)}. Match them again: dpgrs match-effects",
            )
    return {
        size: {outcome: of_size[named[0]] for outcome, named in file_indices.items()}
        for size, of_size in values.items()
    }


def save_ld(path: Path | str, ld_by_size: Mapping[int, tuple[PublicLd, str]]) -> None:
    """Write linkage disequilibrium of variant sets, as from `ld_of_variants`."""
    save_labelled(path, ld_items(ld_by_size))


def ld_items(
    ld_by_size: Mapping[int, tuple[PublicLd, str]],
) -> Iterator[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """Yield linkage disequilibrium of variant sets, a label and arrays for each."""
    for size, (ld, digest) in ld_by_size.items():
        arrays = {f"block{number}": block for number, block in enumerate(ld.blocks)}
        arrays |= {"starts": ld.starts, "components": ld.components}
        yield {"n_variants": size, "n_rows": ld.n_rows, "digest": digest}, arrays


def load_ld(path: Path | str) -> dict[int, tuple[PublicLd, str]]:
    """Read what `save_ld` wrote; maps of genomes in the same file stay there."""
    ld_by_size = {}
    for label, arrays in load_labelled(path).of(lambda label: "n_variants" in label):
        blocks = tuple(arrays[f"block{number}"] for number in range(len(arrays["starts"])))
        ld = PublicLd(np.asarray(arrays["starts"]), blocks, arrays["components"], label["n_rows"])
        ld_by_size[label["n_variants"]] = ld, label["digest"]
    return ld_by_size
