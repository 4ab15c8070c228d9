"""Scoring files of a benchmark, whose figures are exact or of seeded noise: they are no release."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.errors import DpgrsError
from dpgrs.io.files import replacing
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import load_labelled
from dpgrs.io.variant_set import VariantSet
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.release.constants import prediction_constants, published
from dpgrs.release.pgs_catalog import BENCHMARK, Scores, write_scoring_file
from dpgrs.statement.files import file_stems

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

READS = ("score.weights_of", "cohort.rows", "covariates.pcs", "release.genome_build")
# Fits of one method, variant set and number of outcomes may differ in these.
TERMS = ("protection", "accounting", "epsilon")


def write_scores(
    settings: "StudyConfig", weights: Path, variant_set: Path, outcomes: Path, *, output: Path
) -> None:
    """Write the scores of one method of a benchmark, of all variants and all outcomes, as scoring files.

    A score is named by its outcome, and by what tells fits of the method apart where there are several.

    Raises DpgrsError if the method was not fitted, or a variant or weight cannot be held by a scoring file.

    Parameters
    ----------
    weights : weights of all fits of a replicate.
    variant_set : store of the study's variants.
    outcomes : outcomes of the replicate.
    output : folder to write; it is as private as the cohort.
    """
    variant_set, names = VariantSet.open(variant_set), Outcomes.load(outcomes).names
    fit_label = {
        "method": settings.score.weights_of,
        "n_variants": variant_set.n_variants,
        "n_outcomes": len(names),
    }
    fits = list(load_labelled(weights).of(lambda label: fit_label.items() <= label.items()))
    if not fits:
        raise DpgrsError(
            "weights-of-method-missing",
            f"`{weights}` must hold fits of `score.weights_of: {fit_label['method']}` for all outcomes, got "
            "none. Name another of `methods`.",
        )
    scores = [_scores(settings, variant_set, names, LinearFit.of(arrays)) for _, arrays in fits]
    words_of = _name_endings([label for label, _ in fits])
    scores = [
        replace(score, outcomes=tuple(f"{name}{words}" for name in names))
        for score, words in zip(scores, words_of, strict=True)
    ]
    stems = iter(file_stems([name for score in scores for name in score.outcomes]))
    with replacing(output) as folder:
        folder.mkdir(mode=0o700)
        for score in scores:
            for index, name in enumerate(names):
                stem, no_terms = next(stems), {"citation": "", "license_text": ""}
                path, trait = folder / f"{stem}.txt.gz", {"reported_trait": name}
                write_scoring_file(path, score, index, pgs_id=stem, trait=trait, **no_terms)


def _scores(settings: "StudyConfig", variant_set: VariantSet, names: Sequence[str], fit: LinearFit) -> Scores:
    fit, size = published(fit), variant_set.n_variants
    components = settings.covariates.pcs
    constants = {"n_variants": size, "n_components": components, "rows": settings.cohort.rows}
    return Scores(
        outcomes=names,
        sites=variant_set.variants,
        weights=fit.weights[:, :size],
        constants=prediction_constants(fit, **constants),
        genome_build=settings.release.genome_build,
        terms=None,
        source=BENCHMARK,
        chosen=fit.chosen,
    )


def _name_endings(labels: Sequence[dict[str, Any]]) -> list[str]:
    """Return the endings of names that distinguish fits; empty where all fits have the same terms."""
    varied = [name for name in TERMS if len({label[name] for label in labels}) > 1]
    return [
        "".join(
            f".eps{_exact(label[name])}" if name == "epsilon" else f".{label[name]}"
            for name in varied
            if label[name] is not None
        )
        for label in labels
    ]


def _exact(number: float) -> str:
    """Write a number so that no other one is written like it."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)
