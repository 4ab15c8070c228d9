"""What keeps the people of a study from being chosen: lists that are mixed up, or unfit for a release."""

from dpgrs.errors import DpgrsError
from dpgrs.io.tables.alike_ids import ONLY, count_alike
from dpgrs.io.tables.people import choose_people, is_never_allowed, is_pair_table
from dpgrs.preflight.controlled import is_encrypted
from dpgrs.study.people_terms import reference_terms_of, terms_of

KEPT = ("public.keep", "genotypes of the reference")
PEOPLE_KEYS = ("mode", "cohort.source", "cohort.sums", "people")


def people_problems(inspection):
    """List what is wrong with the choice of people."""
    return inspection.choice[1]


def reference_problems(inspection):
    """List what is wrong with the choice of people of the public reference."""
    return inspection.reference_choice[1]


def chosen_people(config, samples, *, shows_ids, tell=None):
    """Choose the people whom the rest of preflight is about, and list what is wrong with the choice.

    Parameters
    ----------
    config : StudyConfig.
    samples : sequence of str, the people of the genotypes; None where no header could be read.
    shows_ids : bool, whether a line may quote ids and numbers of people (open data only).
    tell : function of a line for the operator alone, how many are chosen and how many ids of the lists the
        genotypes lack; None tells nobody.

    Returns
    -------
    people : sequence of str, or `samples` where they cannot be chosen.
    lines : list of str, one line a problem.
    """
    terms = terms_of(config)
    lines = _setting_problems(config, terms)
    people, lines = (samples, lines) if lines else _chosen(samples, terms, shows_ids, tell)
    if tell is not None and (n_alike := count_alike(people or ())):
        tell(
            f"{n_alike:,} of {len(people):,} sample ids of the genotypes differ from another one {ONLY}. "
            "One person under two ids is in the data twice and loses twice as much: leave one out by "
            "`people.remove`."
        )
    return people, lines


def chosen_reference(config, samples, *, shows_ids, tell=None):
    """Do the same for the people of the public reference."""
    return _chosen(samples, reference_terms_of(config), shows_ids, tell)


def _chosen(samples, terms, shows_ids, tell):
    is_unreadable = any(map(is_encrypted, terms.paths.values()))  # said by other checks
    if samples is None or is_unreadable or not terms.paths:
        return samples, []
    key, whose = ("people", "genotypes") if terms.section == "people" else KEPT
    try:
        people, counts = choose_people(samples, terms, shows_ids=shows_ids)
    except DpgrsError as error:
        return samples, [f"`{key}`: {error}"]
    if tell is not None:
        tell(f"{counts['n_chosen']:,} of {counts['n_people']:,} people with {whose} are chosen (`{key}`).")
        for name, number in counts["unknown"].items():
            if number:
                almost = counts["alike"][name]
                same = f" {almost:,} of these differ from one there {ONLY}: are they the same people?"
                tell(
                    f"{getattr(terms, name)}: {number:,} of its ids are not in the {whose}."
                    f"{same if almost else ''}"
                )
    if len(people) < 2:
        got = f"{counts['n_chosen']} of {counts['n_people']}" if shows_ids else "fewer"
        return people, [f"`{key}` must leave at least 2 people of the {whose}, got {got}. Choose more."]
    return people, []


def _setting_problems(config, terms):
    if terms.paths and config.cohort.source == "simulate":
        key, path = next(iter(terms.paths.items()))
        return [f"`{key}` is for `cohort.source: vcf`, got {path} with simulated people. Leave it out."]
    lines = _consent_problems(terms, is_of_centres=config.cohort.sums is not None)
    if config.mode == "release" and terms.related:
        lines += _pair_problems(terms.related)
    return lines


def _consent_problems(terms, *, is_of_centres):
    key = "people.consent.allow"
    if terms.consent is None and not is_of_centres:
        wanted = "come with `people.consent.file`"
        return [f"`{key}` must {wanted}, got it alone. Give the table of codes."] if terms.allow else []
    if terms.consent is not None and not terms.allow:
        return [f"`{key}` must list the codes that let a person in, got null. For example `allow: [1]`."]
    return [
        f"`{key}` must hold codes of people who consented, got `{code}`, which lets nobody in. Leave it out."
        for code in terms.allow
        if is_never_allowed(code)
    ]


def _pair_problems(path):
    try:
        is_pairs = is_pair_table(path)
    except DpgrsError:
        return []  # said where people are chosen
    if not is_pairs:
        return []
    return [
        f"`people.related` must be a fixed list of ids in a release, got the table of pairs {path}: who "
        "is left out by it depends on who else is there, so one person could move the rows of others. Give a "
        "list of ids."
    ]
