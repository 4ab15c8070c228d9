"""What a privacy statement is made of: what a release has to hand over, and what is said of every release."""

from dataclasses import asdict, dataclass
from decimal import Decimal

from dpgrs.types import Metrics, Missing, Neighbours, Protection, Rows

RANDOMNESS = (
    "ChaCha20 keyed by HMAC-SHA256 of a 32-byte study key that the curator keeps secret, the public identity "
    "of the request, its ledger entry and the exact statistic. The guarantee is computational and holds on "
    "average over the key; it is void if the key leaks."
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
# What the guarantee rests on beside proofs, and of which statistics or families alone.
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
COVARIATES_INPUT = "covariates"  # the public input that names them
# Notes beside cases that noise brought beyond what can be.
NO_CASES = "Noise brought the number below 0: it is set to 0."
ALL_CASES = "Noise brought the number above the rows on which the outcome is known: it is set to all of them."
# Beside a number of known rows that is the smallest one released, `dpgrs.methods.reusecov.SMALLEST_KNOWN`.
AT_FLOOR = (
    "The noisy number of rows on which the outcome is known was below 3 standard deviations of its noise and "
    "was raised to these: it is a floor, not a count, and the true number may be much smaller."
)


@dataclass(frozen=True)
class Terms:
    """What is promised to whom.

    Attributes
    ----------
    epsilon, delta : float, or exact text; of all of the release together.
    protection : Protection
    unit : Unit
    neighbours : Neighbours
    accounting : Accounting
    rows : Rows
    """

    epsilon: float | str
    delta: float | str
    protection: str
    unit: str
    neighbours: str
    accounting: str
    rows: str

    def as_text(self):
        """Return the terms as a dict of text; a float becomes its shortest decimal."""
        numbers = {"epsilon": decimal_text(self.epsilon), "delta": decimal_text(self.delta)}
        return {name: str(value) for name, value in asdict(self).items()} | numbers


@dataclass(frozen=True)
class Total:
    """A loss that mechanisms add up to: float or exact text, both."""

    epsilon: float | str
    delta: float | str

    def as_text(self):
        """Return the loss as a dict of text; a float becomes its shortest decimal."""
        return {"epsilon": decimal_text(self.epsilon), "delta": decimal_text(self.delta)}


@dataclass(frozen=True)
class PublicInput:
    """Something that a release takes as public: what, its value or digest, and where it comes from."""

    name: str
    value: str
    origin: str


@dataclass(frozen=True)
class Curation:
    """What the curator says of a release; all of it is printed.

    Attributes
    ----------
    title : str, name of the release.
    curator : str, the institution that answers for it.
    intended_use, data_use_terms, license, citation : str
    region : str, where the people come from, or whose law applies.
    publication_date : str, ``YYYY-MM-DD``, set by the curator; never the time of a run.
    acknowledgement : str, of who gave the data, in the words that their terms ask for; empty for none.
    beyond_20 : str, why a person may lose more than epsilon 20 by the release; empty where nobody does.
    traits : tuple of dict, what outcomes are, from `dpgrs.study.traits.read_traits`; empty for none.
    """

    title: str
    curator: str
    intended_use: str
    data_use_terms: str
    license: str
    citation: str
    region: str
    publication_date: str
    acknowledgement: str = ""
    beyond_20: str = ""
    traits: tuple = ()


@dataclass(frozen=True)
class StatementContent:
    """All that a statement is made of.

    Attributes
    ----------
    version : str, of dpgrs.
    commit : str or None
    curation : Curation
    dataset : dict of accession, consent and dataset_version.
    genome_build : str
    n_variants : int
    site_digest : str, SHA-256 of the site list (`dpgrs.release.pgs_catalog.site_digest`).
    outcomes : tuple of str, their names.
    terms : Terms
    events : tuple of dict, `Event.as_dict` with ``request``, where ``outcome`` names the one outcome that an
        event serves, if it does not serve all. Floats are written out exactly.
    per_outcome, whole_study : Total, the most that one outcome costs, and all of them.
    ledger : dict, from `ledger_standing`.
    public_inputs : tuple of PublicInput; at least those of `REQUIRED_INPUTS`.
    post_processing : tuple of str, steps after the noise; they cost nothing.
    method : str, by which the weights were made. A check of the release knows by it what was drawn.
    fit : dict, the settings by which it made them, beside the noisy statistics.
    preprocessing : tuple of str, steps before the noise that saw private data, each with its charge; empty
        where none did.
    expected_noise_sd : float or None, of a weight.
    accuracy : `Metrics.WITHHELD`, or a tuple of dict with name, value and cost, all text.
    audit : dict or None, from `dpgrs.statement.audits.summarise_audits`.
    person : Total or None, a person's loss where the unit is a haplotype; None stands for
        (2 epsilon, (1 + e^epsilon) delta), the group bound.
    is_joined : bool, whether weights of an outcome hang on draws of others, so that it loses what all do.
    missing_outcomes : Missing or None, whether the rows on which each outcome is known were counted; None of
        methods that need no such count.
    case_counts : tuple of dict, from `dpgrs.release.case_counts.case_counts`; empty where none were counted.
    """

    version: str
    commit: str | None
    curation: Curation
    dataset: dict
    genome_build: str
    n_variants: int
    site_digest: str
    outcomes: tuple
    terms: Terms
    events: tuple
    per_outcome: Total
    whole_study: Total
    ledger: dict
    public_inputs: tuple
    post_processing: tuple
    method: str
    fit: dict
    preprocessing: tuple = ()
    expected_noise_sd: float | None = None
    accuracy: str | tuple = Metrics.WITHHELD
    audit: dict | None = None
    person: Total | None = None
    is_joined: bool = False
    missing_outcomes: Missing | None = None
    case_counts: tuple = ()

    @property
    def has_covariates(self):
        """Whether X has columns that are no genotypes."""
        return any(public.name == COVARIATES_INPUT for public in self.public_inputs)


def decimal_text(number):
    """Return the decimal that a person wrote: 0.1 for the float 0.1, not its binary expansion."""
    text = number if isinstance(number, str) else repr(float(number))
    return f"{Decimal(text).normalize():f}"
