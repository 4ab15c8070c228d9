"""What is asked of the people of a study, as settings: files of ids, consent codes, relatives, a number."""

from dataclasses import dataclass

from dpgrs.study.copied_people import n_copies
from dpgrs.types import Rows


@dataclass(frozen=True)
class PeopleTerms:
    """What is asked of the people of a study; None where nothing is.

    Attributes
    ----------
    keep, remove : path of a list of ids: who alone may be in, and who may not.
    consent : path of a table of ids and consent codes.
    consent_column : str, name of its column with the codes.
    allow : tuple of str, the codes that let a person in; of sums of centres without a table, which each has.
    related : path of a list of ids to leave out, or of a table of pairs with their kinship.
    kinship : float; of each pair above it one person is left out.
    section : str, that of the settings.
    """

    keep: str | None = None
    remove: str | None = None
    consent: str | None = None
    consent_column: str = "consent"
    allow: tuple = ()
    related: str | None = None
    kinship: float = 0.0884
    section: str = "people"

    @property
    def paths(self):
        """Dict of setting to path, of those that are given."""
        named = {
            "keep": self.keep,
            "remove": self.remove,
            "consent.file": self.consent,
            "related": self.related,
        }
        return {f"{self.section}.{key}": path for key, path in named.items() if path is not None}

    @property
    def public(self):
        """Dict of what kinds of lists choose the people, and no path; empty where everybody is taken."""
        terms = {name: True for name in ("keep", "remove", "related") if getattr(self, name) is not None}
        if self.allow:
            terms["consent"] = {"column": self.consent_column, "allow": sorted(self.allow)}
        return terms

    @property
    def in_words(self):
        """The public terms as a reader is told them."""
        said = {"keep": "a list of whom to keep", "remove": "a list of whom to leave out"}
        words = [said[name] for name in self.public if name in said]
        if self.allow:
            words.append(f"consent codes {', '.join(sorted(self.allow))}")
        return "; ".join([*words, *(["a list of relatives to leave out"] if self.related else [])])


def terms_of(config):
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


def reference_terms_of(config):
    """Return the PeopleTerms of the public reference of a resolved configuration."""
    return PeopleTerms(keep=config.public.keep, section="public")


def planned_people(config):
    """Return the public number of people, planned, of copies or of a simulated cohort; None without one."""
    cohort = config.cohort
    simulated = cohort.simulation.people if cohort.source == "simulate" else None
    return cohort.planned_people or n_copies(config) or simulated


def training_rows(config, people):
    """Return how many rows so many people give to train on."""
    trained = max(round(people * (1 - config.outcomes.test_share)), 1)
    return trained * rows_per_person(config)


def rows_per_person(config):
    """Return how many rows of X are a person's."""
    return 2 if config.cohort.rows == Rows.HAPLOTYPES else 1
