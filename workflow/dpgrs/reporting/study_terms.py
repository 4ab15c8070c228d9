"""Settings of a study that matter to some of its methods alone, as its pages name them."""

from typing import NamedTuple

from dpgrs.methods.registry import METHODS
from dpgrs.types import Bounds, Penalty

PENALTY_RULES = {
    Penalty.FIXED: "fixed, the ridge penalty above",
    Penalty.ADASSP: "adassp, from the noise on X′X; the ridge penalty above where that has none",
    Penalty.EVIDENCE: "evidence, from the marginal likelihood of the released statistics",
}


class Fact(NamedTuple):
    """One setting: its name, and its value in words."""

    name: str
    words: str


def method_facts(study, methods):
    """Name the settings that the private methods of a study use.

    Parameters
    ----------
    study : StudyInfo
    methods : set of str, private methods.

    Returns
    -------
    list of Fact
    """
    facts = []
    if study.covariates:
        named, bound = ", ".join(study.covariates), study.covariate_bound
        facts.append(Fact("Covariates", f"{named}, clipped at {bound:g} standard deviations"))
    if has_bounds(methods):
        facts.append(Fact("Bounds", _bounds(study)))
    read = {key for method in methods for key in METHODS[method].reads}
    if "lambda_from" in read:
        facts.append(Fact("Penalty of ReuseCov", PENALTY_RULES[study.penalty_rule]))
    if "heritability" in read:
        stated = study.stated_heritability
        words = "estimated from the released statistics" if stated is None else f"stated as {stated:g}"
        facts.append(Fact("Heritability for BLUP", words))
    if "joint_projection" in read:
        words = (
            "joint, all outcomes or variants into one ball" if study.is_joint else "each into its own ball"
        )
        facts.append(Fact("Projections", words))
    if methods and max(study.outcome_counts) > 1:
        shared = study.outcome_budget == "joint"
        words = (
            "joint, all outcomes share ε and δ" if shared else "separate, each outcome has ε and δ for itself"
        )
        facts.append(Fact("Budget of outcomes", words))
    return facts


def has_bounds(methods):
    """Tell whether any of some methods is fitted from statistics within the study's bounds."""
    return any(METHODS[method].is_post_processing for method in methods)


def _bounds(study):
    if study.bounds != Bounds.TIGHT:
        return "worst-case, what the coding of genotypes and the bound on every outcome allow"
    return f"tight, factors {study.genotype_clip:g} for genotypes and {study.outcome_clip:g} for outcomes"
