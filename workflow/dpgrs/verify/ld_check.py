"""Hold the effects along directions in a bundle against the file of LD that is named in it."""

from pathlib import Path
from typing import Any

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.statement.effects_metadata import TRUNCATED_LD
from dpgrs.verify.folder_check import file_digest
from dpgrs.verify.statistics_check import ARRAYS, OF_SINGLE, OF_TRUNCATED_LD, read_statistics


def ld_problems(statement: dict[str, Any], files: dict[str, Path], path: Path) -> list[str]:
    """Check that columns of a bundle in which nothing else is wrong follow from the LD, and effects have it.

    UsageError says that the release has no such effects.
    """
    digests = [public["value"] for public in statement["public_inputs"] if public["name"] == TRUNCATED_LD]
    if ARRAYS not in files or not digests:
        raise UsageError(
            "`--ld` must go with a release of effects along directions of linkage disequilibrium, got "
            "another. Leave it out."
        )
    if [file_digest(path)] != digests:
        return [f"{path.name} must have the SHA-256 that the statement names"]
    arrays, rows_of_blocks = read_statistics(statement, files), []
    columns = {name: np.zeros_like(arrays[name]) for name in OF_TRUNCATED_LD}
    outside = np.zeros_like(arrays["effects"])
    with np.load(path, allow_pickle=False) as ld:
        for block in dict.fromkeys(name.rpartition("/")[0] for name in ld):
            rows, U, e = (ld[f"{block}/{name}"] for name in ("rows", "eigenvectors", "eigenvalues"))
            U, r = U.astype(np.float64), arrays["effects"][:, rows]
            rows_of_blocks.append(rows)
            for name, power in zip(OF_TRUNCATED_LD, (1, 2), strict=True):
                columns[name][rows] = U**2 @ e**power
            outside[:, rows] = r - (r @ U) @ U.T
    if not np.array_equal(np.sort(np.concatenate(rows_of_blocks)), np.arange(len(columns["noise_scale"]))):
        return [f"{path.name} must have each variant of the scores once"]
    problems = [
        f"{ARRAYS}: {name} must follow from {path.name}"
        for name, numbers in columns.items()
        if not np.allclose(arrays[name], numbers, rtol=OF_SINGLE, atol=OF_SINGLE**2)
    ]
    if np.linalg.norm(outside) > OF_SINGLE * np.linalg.norm(arrays["effects"]):
        problems.append(f"{ARRAYS}: effects must be along the eigenvectors of {path.name}")
    return problems
