"""The people of a study by its settings: files of ids, consent codes, relatives, a number, copies."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.config.cohort import Cohort
    from dpgrs.config.study import StudyConfig


@dataclass(frozen=True)
class PeopleTerms:
    """The conditions on the people of a study; None means no condition."""

    keep: str | None = None  # path of a list of ids: only these may be in
    remove: str | None = None  # path of a list of ids that may not be in
    consent: str | None = None  # path of a table of ids and consent codes
    consent_column: str = "consent"  # the column with the codes
    # Codes that let a person in; for sums of centres without a table, each centre has one.
    allow: tuple[str, ...] = ()
    # Path of a list of ids to leave out, or of a table of pairs with their kinship.
    related: str | None = None
    kinship: float = 0.0884  # of each pair above it one person is left out
    section: str = "people"  # section of the settings

    @property
    def paths(self) -> dict[str, str]:
        """The path by setting, for the settings that are given."""
        named = {
            "keep": self.keep,
            "remove": self.remove,
            "consent.file": self.consent,
            "related": self.related,
        }
        return {f"{self.section}.{key}": path for key, path in named.items() if path is not None}

    @property
    def public(self) -> dict[str, Any]:
        """The kinds of lists that choose the people, without paths; empty if everybody is taken."""
        public_terms = {
            name: True for name in ("keep", "remove", "related") if getattr(self, name) is not None
        }
        if self.allow:
            public_terms["consent"] = {"column": self.consent_column, "allow": sorted(self.allow)}
        return public_terms

    @property
    def in_words(self) -> str:
        """The public terms in words for a reader."""
        words_by_list = {"keep": "a list of whom to keep", "remove": "a list of whom to leave out"}
        words = [words_by_list[name] for name in self.public if name in words_by_list]
        if self.allow:
            words.append(f"consent codes {', '.join(sorted(self.allow))}")
        return "; ".join([*words, *(["a list of relatives to leave out"] if self.related else [])])


def terms_of(config: "StudyConfig") -> PeopleTerms:
    """Return the PeopleTerms of a resolved configuration."""
    people, consent = config.people, config.people.consent
    return PeopleTerms(
        keep=people.keep,
        remove=people.remove,
        consent=consent.file,
        consent_column=consent.column,
        allow=tuple(consent.allow or ()),
        related=people.related,
        kinship=people.kinship,
    )


def reference_terms_of(config: "StudyConfig") -> PeopleTerms:
    """Return the PeopleTerms of the public reference of a resolved configuration."""
    return PeopleTerms(keep=config.public.keep, section="public")


def planned_people(config: "StudyConfig") -> int | None:
    """Return the public number of people, planned, of copies or of a simulated cohort; None without one."""
    cohort = config.cohort
    simulated = cohort.simulation.people if cohort.source == "simulate" else None
    return cohort.planned_people or n_copies(config) or simulated


def training_rows(config: "StudyConfig", people: int) -> int:
    """Return how many training rows a number of people gives."""
    trained = max(round(people * (1 - config.outcomes.test_share)), 1)
    return trained * rows_per_person(config)


def rows_per_person(config: "StudyConfig") -> int:
    """Return how many rows of X are a person's."""
    return 2 if config.cohort.rows == Rows.HAPLOTYPES else 1


def has_same_ancestry(config: "StudyConfig") -> bool:
    """Return whether the public reference has the cohort's ancestry, by statement or simulation."""
    return config.cohort.source == "simulate" or config.public.same_ancestry


def n_copies(config: "StudyConfig") -> int | None:
    """Return how many people are made by copying; None if a study is about the people themselves."""
    return config.cohort.copies.people


def needs_phase(cohort: "Cohort") -> bool:
    """Return whether the haplotype of an allele must be known: haplotypes are rows, or are copied."""
    return cohort.rows == Rows.HAPLOTYPES or cohort.copies.people is not None


def map_files(config: "StudyConfig", chromosome: str) -> list[str]:
    """Return the path of the genetic map of a chromosome as a list of no or one file."""
    pattern = config.cohort.copies.map
    return [pattern.replace("{chrom}", chromosome)] if pattern else []
