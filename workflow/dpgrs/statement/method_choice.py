"""Why `methods: auto` takes a method, as statements and plans say it."""

from dpgrs.fit_keys import MATCHED_PEOPLE

DEFAULT, ALONE = "blup", "reusecov-gauss"
# From so many outcomes under one budget and weights of all of them on, X'Y gains by steering whatever the
# heritability (docs/measurements/frontier.md).
MANY_OUTCOMES, MANY_WEIGHTS = 100, 20_000
# The time of a planned R^2 grows with the number of variants to the power of 2.6: here it takes ten minutes.
# Beyond, R^2 is planned only along a map of the genome.
MOST_PLANNED = 5000
# What it chooses from, the first that is called for, and why.
REASONS = {
    "blup-genome": f"more than {MOST_PLANNED:,} variants are released along the linkage disequilibrium of "
    f"public genotypes of the cohort's ancestry, whose files and list name {MATCHED_PEOPLE} people or more",
    "blup-ld": "public genotypes of the cohort's ancestry, whose files and list name "
    f"{MATCHED_PEOPLE} people or more, stand for X'X, so that X'Y has the whole budget",
    "blup-hedged": "public genotypes are at hand, and the released numbers show how far they fit",
    "blup-steered": f"{MANY_OUTCOMES} outcomes or more share a budget, with {MANY_WEIGHTS:,} weights or more "
    "in all, and X'Y is steered by the noisy X'X",
    "blup-shared": f"{MANY_OUTCOMES} outcomes or more are released together, and may share causes",
    ALONE: "each outcome has a budget of its own, and must be fitted by itself",
    DEFAULT: "few outcomes are released from the cohort's own X'X and X'Y",
}


def reason_in_words(name: str, *, is_asked: bool = True) -> str:
    """Return why `methods: auto` takes a method of `REASONS`, or would take it if the study had `auto`."""
    return f"`methods: auto` {'takes' if is_asked else 'would choose'} {name} here: {REASONS[name]}."
