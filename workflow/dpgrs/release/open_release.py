"""Open a bundle in a notebook."""

from pathlib import Path

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.json_files import read_json
from dpgrs.release.opened import OpenRelease
from dpgrs.release.scoring_check import read_scoring_file
from dpgrs.release.statistics_files import ARRAYS, ReleasedStatistics
from dpgrs.release.verify import STATEMENT, verify_release

# Of the largest weight; machines differ in the last digits of a fit.
TOLERANCE = 1e-6


def open_release(directory, *, verify=True):
    """Open the bundle of a release, to fit other scores on its statistics.

    Parameters
    ----------
    directory : the bundle's folder.
    verify : bool, whether the bundle is checked first, as by `dpgrs release verify`, and whether its scores
        follow from its statistics.

    Returns
    -------
    OpenRelease

    Raises
    ------
    DpgrsError
        With all that is wrong with the bundle, or if its scores are not of its statistics.
    UsageError
        If it holds no statistics: the curator left them out, or its method draws fits.
    """
    folder = Path(directory)
    if verify:
        verify_release(folder)
    if not (folder / ARRAYS).is_file():
        raise UsageError(
            f"`{directory}` must hold {ARRAYS} to fit on, got none: its curator left it out, or its "
            "method draws fits and no statistics. Use its scores as they are."
        )
    opened = OpenRelease(read_json(folder / STATEMENT), ReleasedStatistics.load(folder / ARRAYS))
    if verify:
        _require_own_scores(opened, folder)
    return opened


def _require_own_scores(opened, folder):
    """Refuse scores that do not follow from the statistics, where no other public files are in the fit."""
    is_of_effects = any(one["name"].startswith("effects of ") for one in opened.statement["public_inputs"])
    if is_of_effects or opened.statement["method"] not in opened.methods:
        return
    weights = opened.fit().weights
    sites = weights.index.to_frame()
    columns = (
        sites["contig"].str.removeprefix("chr"),
        sites["position"].astype(str),
        sites["alt"],
        sites["ref"],
    )
    places = {site: place for place, site in enumerate(zip(*columns, strict=True))}
    for score in opened.statement["scores"]:
        file = read_scoring_file(folder / score["file"])
        own = weights[score["outcome"]].to_numpy()[[places[site] for site in file.sites]]
        held = np.array(list(map(float, file.numbers)))
        if np.abs(held - own).max() > TOLERANCE * np.abs(own).max():
            raise DpgrsError(
                f"`{score['file']}` must follow from {ARRAYS} by `{opened.statement['method']}`, got other "
                "weights. Get the bundle again, or ask its curator."
            )
