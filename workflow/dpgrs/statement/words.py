"""Sentences of the statements of every release, or of every release of a kind."""

from decimal import Decimal

from dpgrs.types import Neighbours, Protection, Rows

RANDOMNESS = (
    "ChaCha20 keyed by HMAC-SHA256 of a 32-byte study key that the curator keeps secret, the public identity "
    "of the request and the exact statistic. The guarantee is computational and holds on average over the "
    "key; it is void if the key leaks."
)
TRUST_MODEL = (
    "Central: the curator holds the data, or their exact sums, and the study key, and is trusted with both. "
    "Readers of the release are not trusted, may know everything but one unit's data, and may join forces."
)
THEOREM = (
    "Adaptive composition of Gaussian mechanisms: mu^2 adds up (Dong, Roth, Su 2022), and "
    "delta(epsilon) = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)."
)
PURE_THEOREM = (
    "Basic composition of mechanisms without a delta, such as private choices: their epsilons add up to a "
    "pure epsilon."
)
BOTH_THEOREM = (
    "The two parts together are (epsilon(mu, delta) + pure epsilon, delta)-differentially private, since a "
    "run whose Gaussian mechanisms see one data set and whose pure ones see its neighbour lies between."
)
RELEASE_TYPE = "one release"
# Assumptions of the guarantee beside the proofs, and those that only some statistics or families need.
ASSUMPTIONS = (
    "ChaCha20 keyed by HMAC-SHA256 is a pseudo-random function: without the study key nobody can tell its "
    "output from fair bits.",
    "Before this program no unit's data changed another's rows.",
    "The processor and its numerical libraries compute in IEEE 754 double precision, rounding to nearest.",
)
CHOLESKY = (
    "LAPACK forms each entry of a Cholesky factor as a sum of products, in any order, and a quotient or a "
    "root (docs/proofs/smallest_eigenvalue.md)."
)
DECIMAL = "Python's decimal module rounds exponentials and logarithms correctly."
SINGLE = (
    "By the same standard, products of matrices in single precision are exact while they and their sums are "
    "whole numbers below 2^24 (docs/proofs/genome.md)."
)
ASSUMED_OF = {
    "genome sums": SINGLE,
    "smallest eigenvalue": CHOLESKY,
    "subset": DECIMAL,
}
# With fixed sites, and with dosages of these.
OF_FIXED_SITES = (
    "The genotype files hold a fixed public list of sites, and each person's genotypes were written whatever "
    "those of the others: no site and no allele was left out or chosen by these people "
    "(docs/proofs/fixed_sites.md)."
)
OF_FIXED_DOSAGES = "Imputed dosages count as each person's own data."
ROWS_INPUT = "number of rows"  # the public input, and where it comes from: it is public, or drawn
ORIGIN_OF_ROWS = {
    Neighbours.REPLACE_ONE: "declared public, neighbours replace one row",
    Neighbours.ADD_REMOVE: "released with noise, charged",
}
# Of every family of events that a release can draw.
NOISE = {
    "gaussian": "normal, exactly rounded to the grid (docs/proofs/exact_noise.md)",
    "laplace": "discrete Laplace, drawn exactly on the grid (docs/proofs/exact_noise.md)",
    "choice": "permute-and-flip, drawn exactly (docs/proofs/exact_noise.md)",
    "subset": "canonical Lipschitz mechanism, certified (docs/proofs/canonical_lipschitz.md)",
}
# By protection: the public input that its other side is, one for each file, and what is not protected then.
PUBLIC_SIDE = {
    Protection.FEATURE: "public outcomes of the people of the study",
    Protection.LABEL: "public genotypes of the people of the study",
}
WHO = "Who is in the study: neighbours are of the same people, whose ids the public files hold."
NOT_PROTECTED_UNDER = {
    Protection.FULL: (),
    Protection.FEATURE: (
        "Outcomes, and which of them are missing: all are taken as public, and weights may follow from them "
        "without noise.",
        WHO,
    ),
    Protection.LABEL: (
        "Genotypes: all are taken as public, and weights follow from them without noise.",
        WHO,
    ),
}
NOT_PROTECTED = (
    "Relatives: they share genotypes and are not one unit. What a person's data say about a relative is "
    "covered once for each of the two.",
    "People in two data sets, or in nested consent groups of one: budgets are kept per data set, and such a "
    "person's losses add up beyond any of them.",
    "Facts about the population that would be found without any one unit's data, such as that a variant goes "
    "with an outcome.",
    "Steps before this program (calling, phasing, imputation, quality control, choice of people), and "
    "settings that were chosen by looking at the same people: they are not counted.",
    "Whoever is in the data more than once, under two sample ids or at two centres: of somebody who is in k "
    "times, mu and pure epsilon are k times as large.",
    "That the data set of this release meets the conditions of the release, and whether any other release "
    "was refused or failed.",
    "Everything listed under public inputs.",
)
SUBGROUPS = (
    "The guarantee is the same for every unit. Accuracy is not: noise weighs more on small groups, and "
    "scores transfer badly to ancestries that the data hold few people of."
)
ROWS_OF_A_PERSON = {Rows.HAPLOTYPES: "two rows, one for each haplotype", Rows.PEOPLE: "one row"}
# Begins the one line on steps before, which the curator words.
PREPROCESSING = "Before this program, not covered by the guarantee, in the curator's words: "
COVARIATES_INPUT = "covariates"  # the public input that names them
# Notes beside cases that noise brought beyond what can be.
NO_CASES = "Noise brought the number below 0: it is set to 0."
ALL_CASES = "Noise brought the number above the rows on which the outcome is known: it is set to all of them."
# Beside a number of known rows that is the smallest one released, `dpgrs.methods.reusecov.SMALLEST_KNOWN`.
AT_FLOOR = (
    "The noisy number of rows on which the outcome is known was below 3 standard deviations of its noise and "
    "was raised to these: it is a floor, not a count, and the true number may be much smaller."
)


def decimal_text(number: float | str) -> str:
    """Return the decimal that a person wrote: 0.1 for the float 0.1, not its binary expansion."""
    text = number if isinstance(number, str) else repr(float(number))
    return f"{Decimal(text).normalize():f}"
