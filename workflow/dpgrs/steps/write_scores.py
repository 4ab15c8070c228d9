"""Scoring files of a benchmark, whose figures are exact or of seeded noise: they are no release."""

from dataclasses import replace
from pathlib import Path

from dpgrs.errors import DpgrsError
from dpgrs.io.files import replacing
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import load_labelled
from dpgrs.io.variant_set import VariantSet
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.release.constants import prediction_constants, published
from dpgrs.release.pgs_catalog import BENCHMARK, Scores, file_stems, write_scoring_file

READS = ("score.weights_of", "cohort.rows", "covariates.pcs", "release.genome_build")
# By which fits of one method, variant set and number of outcomes may differ.
TERMS = ("protection", "accounting", "epsilon")


def write_scores(settings, weights: Path, variant_set: Path, outcomes: Path, *, output: Path):
    """Write the scores of one method of a benchmark, of all variants and all outcomes, as scoring files.

    A score is named by its outcome, and by what tells fits of the method apart where there are several.

    Parameters
    ----------
    weights : weights of all fits of a replicate.
    variant_set : store of the study's variants.
    outcomes : outcomes of the replicate.
    output : folder to write; it is as private as the cohort.

    Raises
    ------
    DpgrsError
        If the method was not fitted, or a variant or weight cannot be held by a scoring file.
    """
    variant_set, names = VariantSet.open(variant_set), Outcomes.load(outcomes).names
    wanted = {
        "method": settings.score.weights_of,
        "n_variants": variant_set.n_variants,
        "n_outcomes": len(names),
    }
    fits = list(load_labelled(weights).of(lambda label: wanted.items() <= label.items()))
    if not fits:
        raise DpgrsError(
            f"`{weights}` must hold fits of `score.weights_of: {wanted['method']}` for all outcomes, got "
            "none. Name another of `methods`."
        )
    scores = [_scores(settings, variant_set, names, LinearFit.of(arrays)) for _, arrays in fits]
    words_of = _told_apart([label for label, _ in fits])
    scores = [
        replace(one, outcomes=tuple(f"{name}{words}" for name in names))
        for one, words in zip(scores, words_of, strict=True)
    ]
    stems = iter(file_stems([name for one in scores for name in one.outcomes]))
    with replacing(output) as folder:
        folder.mkdir(mode=0o700)
        for one in scores:
            for index, name in enumerate(names):
                stem, told = next(stems), {"citation": "", "license_text": ""}
                path, trait = folder / f"{stem}.txt.gz", {"reported_trait": name}
                write_scoring_file(path, one, index, pgs_id=stem, trait=trait, **told)


def _scores(settings, variant_set, names, fit):
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


def _told_apart(labels):
    """Return what tells fits apart, a list of str that follow a name; empty of what is the same for all."""
    varied = [name for name in TERMS if len({label[name] for label in labels}) > 1]
    return [
        "".join(
            f".eps{_exact(label[name])}" if name == "epsilon" else f".{label[name]}"
            for name in varied
            if label[name] is not None
        )
        for label in labels
    ]


def _exact(number):
    """Write a number so that no other one is written like it."""
    short = f"{number:g}"
    return short if float(short) == number else repr(number)
