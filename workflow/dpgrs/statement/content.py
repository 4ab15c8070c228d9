"""What a privacy statement is made of: all that a release has to hand over."""

from dataclasses import asdict, dataclass
from typing import Any

from dpgrs.statement.words import COVARIATES_INPUT, decimal_text
from dpgrs.types import Accounting, Metrics, Missing, Neighbours, Protection, Rows, Unit


@dataclass(frozen=True)
class Terms:
    """What is promised to whom."""

    # Of all of the release together; text is exact.
    epsilon: float | str
    delta: float | str
    protection: Protection | str
    unit: Unit | str
    neighbours: Neighbours | str
    accounting: Accounting | str
    rows: Rows | str

    def as_text(self) -> dict[str, str]:
        """Return the terms as a dict of text; a float becomes its shortest decimal."""
        numbers = {"epsilon": decimal_text(self.epsilon), "delta": decimal_text(self.delta)}
        return {name: str(value) for name, value in asdict(self).items()} | numbers


@dataclass(frozen=True)
class Total:
    """A loss that mechanisms add up to: float or exact text, both."""

    epsilon: float | str
    delta: float | str

    def as_text(self) -> dict[str, str]:
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
    """What the curator says of a release; all of it is printed."""

    title: str  # name of the release
    curator: str  # the institution that answers for it
    intended_use: str
    data_use_terms: str
    license: str
    citation: str
    region: str  # where the people come from, or whose law applies
    publication_date: str  # ``YYYY-MM-DD``, set by the curator; never the time of a run
    acknowledgement: str = ""  # of who gave the data, in the words that their terms ask for
    beyond_20: str = ""  # why a person may lose more than epsilon 20 by the release, where somebody does
    traits: tuple[dict[str, Any], ...] = ()  # what outcomes are, from `dpgrs.study.traits.read_traits`


@dataclass(frozen=True)
class StatementContent:
    """All that a statement is made of."""

    version: str  # of dpgrs
    commit: str | None
    curation: Curation
    dataset: dict[str, str]  # of accession, consent and dataset_version
    genome_build: str
    n_variants: int
    site_digest: str  # SHA-256 of the site list (`dpgrs.release.pgs_catalog.site_digest`)
    outcomes: tuple[str, ...]
    terms: Terms
    # From `Event.as_dict` with ``request``, where ``outcome`` names the one outcome that an event serves, if
    # it does not serve all. Floats are written out exactly.
    events: tuple[dict[str, Any], ...]
    per_outcome: Total  # the most that one outcome costs
    whole_study: Total
    ledger: dict[str, Any]  # from `dpgrs.release.statement.ledger_standing`
    public_inputs: tuple[PublicInput, ...]  # at least those of `REQUIRED_INPUTS`
    post_processing: tuple[str, ...]  # steps after the noise; they cost nothing
    method: str  # of the weights; a check of the release infers the draws from it
    fit: dict[str, Any]  # the settings of this method's fit, beside the noisy statistics
    # Steps before the noise that saw private data, each with its charge.
    preprocessing: tuple[str, ...] = ()
    expected_noise_sd: float | None = None  # of a weight
    accuracy: str | tuple[dict[str, str], ...] = Metrics.WITHHELD  # of each outcome: name, value and cost
    audit: dict[str, Any] | None = None  # from `dpgrs.release.audits.summarise_audits`
    # A person's loss where the unit is a haplotype; None stands for (2 epsilon, (1 + e^epsilon) delta), the
    # group bound.
    person: Total | None = None
    is_joined: bool = False  # whether weights of an outcome follow from draws of others: it loses what all do
    # Whether the rows on which each outcome is known were counted; None of methods that need no such count.
    missing_outcomes: Missing | None = None
    case_counts: tuple[dict[str, Any], ...] = ()  # from `dpgrs.release.case_counts.case_counts`

    @property
    def has_covariates(self) -> bool:
        """Whether X has columns that are no genotypes."""
        return any(public.name == COVARIATES_INPUT for public in self.public_inputs)
