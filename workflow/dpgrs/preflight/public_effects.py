"""Problems of public effects that a fit starts from."""

from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError, must
from dpgrs.io.scoring_files import open_effects
from dpgrs.methods.registry import METHODS
from dpgrs.preflight.loadings import outcomes_of
from dpgrs.preflight.rules import ABSENT, ALONG_MAP, When, is_given, rules, without
from dpgrs.statement.files import file_stems
from dpgrs.study.public_files import files_named
from dpgrs.study.table_settings import outcome_constants
from dpgrs.study.variant_terms import takes_map
from dpgrs.types import Protection

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

KEY, SUBTRACT = "public.effects", "public.subtract"
EFFECTS = is_given(KEY)
STARTED_FROM = When(
    lambda inspection: any(METHODS[name].takes_effects for name in inspection["methods"]), ("methods",)
)
# Effects are on outcomes, of which a fit must be, and which must be private.
RULES = rules(
    {
        f"`methods` must name one of {{effect_methods}} with `{KEY}`, got {{got}}. Leave out `{KEY}`, or "
        "add one of them.": (lambda names: any(METHODS[name].takes_effects for name in names), EFFECTS),
        f"`privacy.protection` must be full or label with `{KEY}`, got feature. Leave out `{KEY}`.": (
            lambda protections: Protection.FEATURE not in protections,
            EFFECTS,
            STARTED_FROM,
        ),
        f"`outcomes.loadings` must be null with `{KEY}`, got {{got}}. Leave out `{KEY}`.": (
            None,
            EFFECTS,
            STARTED_FROM,
        ),
        f"`{SUBTRACT}` must go with `methods: {{map_methods}}`, got {{got}}. Leave it out.": (
            *(ABSENT, without(ALONG_MAP)),
        ),
        # Effects of single variants would be on the outcome less its public score.
        f"`privacy.direction_shares` must be steered with `{SUBTRACT}`, got {{got}}. Leave out one of "
        "them.": ("steered", is_given(SUBTRACT), ALONG_MAP),
    }
)
# The keys that the names of outcomes and their constants depend on.
NAMES = (
    *("outcomes.source", "outcomes.file", "outcomes.count", "outcomes.scales", "outcomes.prevalence"),
    "cohort.sums",
)


def file_problems(inspection: "Inspection") -> list[str]:
    """List the problems of the heads of files, and effects that a method cannot use."""
    lines, build = [], inspection["release.genome_build"]
    alone = [name for name in inspection["methods"] if METHODS[name].takes_effects]
    alone = [name for name in alone if not METHODS[name].takes_ld]
    for path in inspection[KEY]:
        try:
            file = open_effects(path, build=build)
        except DpgrsError as error:
            lines.append(f"`{KEY}`: {error}")
            continue
        if file.is_marginal and alone:
            domain = f"hold effect_weight, effects that go together, for `methods: {', '.join(alone)}`"
            got = f"effects of one variant at a time in {path}"
            lines.append(must(KEY, domain, got, "Use `methods: blup-ld`, or take a scoring file."))
        if not file.is_marginal and takes_map(inspection["methods"]):
            domain = "hold beta, effects of one variant at a time, for `methods: blup-genome`"
            got = f"effects that go together in {path}"
            lines.append(must(KEY, domain, got, "Take summary statistics, or `methods: blup-ld`."))
    return lines


def subtract_problems(inspection: "Inspection") -> list[str]:
    """Refuse public scores to subtract that have no file, or several."""
    outcomes = list(inspection[SUBTRACT])
    if not (outcomes and takes_map(inspection["methods"])):
        return []
    files = [Path(path).name for path in inspection[KEY]]
    stems = zip(outcomes, file_stems(outcomes), strict=True)
    numbers = {outcome: len(files_named(stem, files)) for outcome, stem in stems}
    fix = f"Name a file after it, such as {file_stems(outcomes)[0]}.txt.gz, or leave it out."
    domain = f"name outcomes that one file of `{KEY}` is named after"
    return [
        must(SUBTRACT, domain, f"{number} for {outcome}", fix)
        for outcome, number in numbers.items()
        if number != 1
    ]


def name_problems(inspection: "Inspection") -> list[str]:
    """Refuse public scores of names that are no outcomes, share a file name, or have two values."""
    outcomes, counts = list(inspection[SUBTRACT]), inspection["outcomes.count"]
    names = outcomes_of(inspection, counts and max(counts)) if outcomes else None
    if not names:
        return []
    lines = [
        must(SUBTRACT, "name outcomes of the study", outcome, "Correct it, or leave it out.")
        for outcome in outcomes
        if outcome not in names
    ]
    # A bundle names its files after all outcomes, and so it must name the effects of each.
    stems = dict(zip(names, file_stems(names), strict=True))
    lines += [
        must(
            SUBTRACT,
            "name outcomes whose names as files no other outcome has",
            outcome,
            "Rename a column, or leave it out.",
        )
        for outcome, stem in zip(outcomes, file_stems(outcomes), strict=True)
        if stems.get(outcome, stem) != stem
    ]
    try:
        constants = outcome_constants(inspection.config.outcomes, names)
    except DpgrsError:
        return lines  # the check of constants reports it
    is_binary = set() if constants is None else set(constants.index[constants["is_binary"]])
    return lines + [
        must(SUBTRACT, "name outcomes that are not 0/1", outcome, "Leave it out.")
        for outcome in outcomes
        if outcome in is_binary
    ]
