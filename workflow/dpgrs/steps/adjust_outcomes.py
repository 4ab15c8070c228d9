"""Outcomes of a replicate less what covariates explain of them."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError
from dpgrs.io.covariates import Covariates
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import load_labelled
from dpgrs.methods.mechanisms import drawn_names, mechanism_of_file, request_of
from dpgrs.study.adjusted_outcomes import adjusted_parts, effects_of_fit, effects_without_privacy
from dpgrs.study.fit_identity import output_digests

if TYPE_CHECKING:
    import numpy as np

    from dpgrs.config.study import StudyConfig

READS = ("mode",)


def adjust_outcomes(
    settings: "StudyConfig", outcomes: Path, covariates: Path, *, drawn: Path | None = None, output: Path
) -> None:
    """Take from every person's outcomes the part that their covariates explain, by public effects.

    Raises DpgrsError if a release is to be adjusted by effects that were not released, or of other outcomes
    or covariates. Raises UsageError if `output` is a folder that holds something.

    Parameters
    ----------
    outcomes : outcomes and split of a replicate.
    covariates : covariates of the same rows.
    drawn : effects that a regression on covariates released; without them a benchmark takes those of least
        squares, for fits without privacy.
    output : adjusted outcomes, to write.
    """
    outcomes, covariates = Outcomes.load(outcomes), Covariates.load(covariates)
    if drawn is None:
        if settings.mode == "release":
            raise DpgrsError(
                "effects-not-released",
                "Outcomes of a release must be adjusted by released effects. Give --drawn.",
            )
        effects, digests = effects_without_privacy(outcomes, covariates), ()
    else:
        effects, digests = _released_effects(drawn)
    if effects.shape != (len(outcomes.names), len(covariates.names) + 1):
        raise DpgrsError(
            "effects-shape",
            f"The effects must be of {len(outcomes.names)} outcomes and {len(covariates.names)} covariates, "
            "got others. Draw them again.",
        )
    adjustment = {"covariate_effects": effects_of_fit(effects, covariates), "adjusted_by": tuple(digests)}
    replace(outcomes, **adjustment).save(output, adjusted_parts(outcomes, covariates, effects))


def _released_effects(path: Path) -> "tuple[np.ndarray, Iterable[str]]":
    """Return the effects of a regression on covariates, and the digests of its released outputs."""
    ((label, arrays),) = load_labelled(path)
    mechanism = mechanism_of_file(label)
    regression = mechanism.restore(label, arrays)
    outputs = mechanism.outputs(regression, drawn_names(label), request_of(label))
    return regression.effects, output_digests(outputs).values()
