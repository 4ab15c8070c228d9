"""Problems of the choice of people: lists that are mixed up, or unfit for a release."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError
from dpgrs.io.tables.alike_ids import ONLY, count_alike
from dpgrs.io.tables.people import choose_people, is_never_allowed, is_pair_table
from dpgrs.preflight.controlled import is_encrypted
from dpgrs.study.people_terms import PeopleTerms, terms_of

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

KEPT = ("public.keep", "genotypes of the reference")
PEOPLE_KEYS = ("mode", "cohort.source", "cohort.sums", "people")


def chosen_people(
    config: "StudyConfig",
    samples: Sequence[str] | None,  # of the genotypes; None where no header could be read
    *,
    shows_ids: bool,  # whether a line may quote ids and numbers of people: only of open data
    tell: Callable[[str], None] | None = None,  # takes counts for the operator only
) -> tuple[Sequence[str] | None, list[str]]:
    """Return the people whom the other checks use, `samples` where they cannot be chosen, and problems."""
    choice = terms_of(config)
    lines = _setting_problems(config, choice)
    people, lines = (samples, lines) if lines else choose(samples, choice, shows_ids, tell)
    if tell is not None and (n_alike := count_alike(people or ())):
        tell(
            f"{n_alike:,} of {len(people):,} sample ids of the genotypes differ from another one {ONLY}. "
            "One person under two ids is in the data twice and loses twice as much: leave one out by "
            "`people.remove`."
        )
    return people, lines


def choose(
    samples: Sequence[str] | None,
    choice: PeopleTerms,
    shows_ids: bool,
    tell: Callable[[str], None] | None = None,
) -> tuple[Sequence[str] | None, list[str]]:
    """Return the people chosen of a cohort or the reference, and problems; as `chosen_people`."""
    is_unreadable = any(map(is_encrypted, choice.paths.values()))  # other checks report it
    if samples is None or is_unreadable or not choice.paths:
        return samples, []
    key, whose = ("people", "genotypes") if choice.section == "people" else KEPT
    try:
        people, counts = choose_people(samples, choice, shows_ids=shows_ids)
    except DpgrsError as error:
        return samples, [f"`{key}`: {error}"]
    if tell is not None:
        tell(f"{counts['n_chosen']:,} of {counts['n_people']:,} people with {whose} are chosen (`{key}`).")
        for name, number in counts["unknown"].items():
            if number:
                almost = counts["alike"][name]
                same = f" {almost:,} of these differ from one there {ONLY}: are they the same people?"
                tell(
                    f"{getattr(choice, name)}: {number:,} of its ids are not in the {whose}."
                    f"{same if almost else ''}"
                )
    if len(people) < 2:
        got = f"{counts['n_chosen']} of {counts['n_people']}" if shows_ids else "fewer"
        return people, [f"`{key}` must leave at least 2 people of the {whose}, got {got}. Choose more."]
    return people, []


def _setting_problems(config: "StudyConfig", choice: PeopleTerms) -> list[str]:
    if choice.paths and config.cohort.source == "simulate":
        key, path = next(iter(choice.paths.items()))
        return [f"`{key}` is for `cohort.source: vcf`, got {path} with simulated people. Leave it out."]
    lines = _consent_problems(choice, is_of_centres=config.cohort.sums is not None)
    if config.mode == "release" and choice.related:
        lines += _pair_problems(choice.related)
    return lines


def _consent_problems(choice: PeopleTerms, *, is_of_centres: bool) -> list[str]:
    key = "people.consent.allow"
    if choice.consent is None and not is_of_centres:
        domain = "come with `people.consent.file`"
        return [f"`{key}` must {domain}, got it without. Give the table of codes."] if choice.allow else []
    if choice.consent is not None and not choice.allow:
        return [f"`{key}` must list the codes that let a person in, got null. For example `allow: [1]`."]
    return [
        f"`{key}` must hold codes of people who consented, got `{code}`, which lets nobody in. Leave it out."
        for code in choice.allow
        if is_never_allowed(code)
    ]


def _pair_problems(path: str) -> list[str]:
    try:
        is_pairs = is_pair_table(path)
    except DpgrsError:
        return []  # reported where people are chosen
    if not is_pairs:
        return []
    return [
        f"`people.related` must be a fixed list of ids in a release, got the table of pairs {path}: who "
        "is left out by it depends on who else is there, so one person could move the rows of others. Give a "
        "list of ids."
    ]
