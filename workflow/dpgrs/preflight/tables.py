"""Problems of the tables of a study that can be seen before any job runs."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import TYPE_CHECKING

import pandas as pd

from dpgrs.errors import CellError, DpgrsError, must
from dpgrs.io.tables.alike_ids import AlikeIds
from dpgrs.io.tables.missing_codes import MissingCodes
from dpgrs.io.tables.outcome_scales import constants_of, read_scales
from dpgrs.io.tables.people_counts import PeopleCount
from dpgrs.io.tables.phenotypes import OutcomeScale, describe_scale, outcome_chunks, standardise
from dpgrs.io.tables.table_samples import describe_chosen, sample_outcomes
from dpgrs.io.tables.tables import column_names, describe_mismatch, read_populations
from dpgrs.preflight.controlled import encrypted_line, is_encrypted
from dpgrs.preflight.loadings import outcomes_of
from dpgrs.preflight.rules import each, has, is_given, rules, without
from dpgrs.study.table_cohort import takes_columns
from dpgrs.study.table_values import raw_problems
from dpgrs.types import Metrics, TableCheck

if TYPE_CHECKING:
    from dpgrs.config.outcomes import Outcomes
    from dpgrs.preflight.inspection import Inspection

SIMULATED = ("outcomes.factors", "outcomes.network", "outcomes.prevalence")
SIMULATED_OUTCOMES = has("outcomes.source", "simulate")
RULES = rules(
    {
        **each(
            SIMULATED,
            "is for `outcomes.source: simulate`, got {got} with a table. Leave it out.",
            *(None, without(SIMULATED_OUTCOMES)),
        ),
        # Factors are linear, and the liability of a prevalence is normal.
        **{
            f"`outcomes.network` must be null beside `{name}`, got {{got}}. Leave one out.": (
                None,
                is_given(name),
                SIMULATED_OUTCOMES,
            )
            for name in ("outcomes.factors", "outcomes.prevalence")
        },
    }
)


def population_problems(inspection: "Inspection") -> list[str]:
    """List the problems of the table of populations."""
    key, path = "cohort.populations", inspection["cohort.populations"]
    if path is None or path in inspection.absent or inspection["cohort.source"] == "simulate":
        return []
    if is_encrypted(path):
        return [encrypted_line(key, path)]
    try:
        if inspection.headers_only:
            column_names(path)
            return []
        ids = read_populations(path).index
    except DpgrsError as error:
        return [f"`{key}`: {error}"]
    people, shows_ids = inspection.people, inspection.shows_ids
    mismatch = describe_mismatch(ids, people, shows_ids=shows_ids) if people else None
    return [f"`{key}`: `{path}` {mismatch}"] if mismatch else []


def outcome_problems(inspection: "Inspection") -> list[str]:
    """List the problems of the tables of outcomes and of their constants."""
    outcomes = inspection.config.outcomes
    path, counts, key = outcomes.file, outcomes.count, "outcomes.file"
    if outcomes.source == "simulate":
        return _simulated_outcome_problems(outcomes)
    if takes_columns(inspection.config):
        return _own_column_problems(inspection)
    if path is None and inspection["cohort.sums"]:
        return []  # summed at the centres
    if path is None:
        fix = "Give the table, or simulate."
        return [must(key, "be a path for `outcomes.source: file`", "null", fix)]
    if is_encrypted(path):
        return [encrypted_line(key, path)]
    used, scale, chosen = slice(counts and max(counts)), OutcomeScale(), []
    constants, faults = _constants(inspection, path, used, outcomes.scales)

    def judge(table: pd.DataFrame, is_whole: bool) -> None:
        with noting(faults, "outcomes.scales"):
            requires = {"requires_binary": TableCheck.BINARY in outcomes.checks}
            standard = table if constants is None else standardise(table, constants, **requires)
            if is_whole:
                scale.add(standard)
            else:
                chosen.append(describe_chosen(standard))

    options = {"columns": used, "judge": judge if inspection.shows_ids and not faults else None}
    names, lines = count_table(inspection, key, kind="outcome", **options)
    if names is not None and counts is not None and max(counts) > len(names):
        domain = f"be at most {len(names)}, the outcomes in {path}"
        lines.append(must("outcomes.count", domain, max(counts), "Lower it, or leave it out to use all."))
    if names is None or faults:
        return lines + faults
    is_judged = inspection.shows_ids and TableCheck.SCALE in outcomes.checks
    if inspection.headers_only or not is_judged:
        return lines
    return lines + raw_problems(chosen[0] if chosen else scale.describe())


def _own_column_problems(inspection: "Inspection") -> list[str]:
    """List the problems of outcomes that are columns of the study's own table, and of their constants."""
    cohort_table, outcomes, faults = inspection.table.cohort_table, inspection.config.outcomes, []
    if cohort_table is None:
        return []  # `table_cohort.table_problems` reports it
    table_outcomes = cohort_table.outcomes
    table = pd.DataFrame(table_outcomes.values, columns=table_outcomes.names)
    table = table.iloc[:, : outcomes.count and max(outcomes.count)]
    with noting(faults, "outcomes.scales"):
        if path := outcomes.scales:
            table = standardise(table, constants_of(list(table), read_scales(path), path=path))
    return faults or raw_problems(describe_scale(table), key="outcomes.columns")


def reference_problems(inspection: "Inspection") -> list[str]:
    """List the problems of the table of outcomes of the public reference."""
    outcomes, key = inspection.config.outcomes, "evaluation.outcomes"
    path, count = inspection[key], outcomes.count and max(outcomes.count)
    is_used = inspection["evaluation.metrics"] == Metrics.PUBLIC and outcomes.source == "file"
    if path is None or not is_used:
        return []
    used, source = slice(count), "outcomes.file" if inspection["cohort.sums"] is None else "cohort.sums"
    # Faults of the constants are reported of the study's own table.
    constants, scale_faults = _constants(inspection, path, used, outcomes.scales)
    faults: list[str] = []

    def judge(table: pd.DataFrame, is_whole: bool) -> None:
        with noting(faults, key):
            standardise(table, constants, requires_binary=TableCheck.BINARY in outcomes.checks)

    options = {"columns": used, "judge": None if constants is None or scale_faults else judge}
    names, lines = count_table(inspection, key, kind="outcome", is_reference=True, **options)
    lines += faults
    outcome_names = outcomes_of(inspection, count)
    if names is None or not outcome_names:
        return lines
    for position, (ours, theirs) in enumerate(zip_longest(outcome_names, names[used], fillvalue="none"), 1):
        if ours != theirs:
            got = f"{theirs} as outcome {position} of {path} where that has {ours}"
            domain = f"have the outcomes of `{source}` in the same order"
            return [*lines, must(key, domain, got, "Name and order the columns alike.")]
    return lines


def count_table(
    inspection: "Inspection",
    key: str,
    *,
    kind: str,  # outcome or covariate
    columns: Sequence[str] | slice | None = None,  # as in `read_outcomes`
    # Takes rows of people with genotypes, and whether all parts together are all these people.
    judge: Callable[[pd.DataFrame, bool], None] | None = None,
    is_told: bool = True,  # whether the operator is told the counts
    is_reference: bool = False,  # whether the table is of people of the public reference
) -> tuple[list[str] | None, list[str]]:
    """Return all columns of a table of outcomes or covariates, None if unreadable, and its problems.

    It counts the people that the table shares with the genotypes; only the operator may see counts of a
    release. A large table is read for its ids, and for the values of people chosen at random; the operator
    is told so.
    """
    path, people, whose_people = inspection[key], inspection.people, {"shows_ids": inspection.shows_ids}
    if is_reference:
        if is_encrypted(path):
            return None, []  # the checks of controlled data report it
        # A table of private people may be named by mistake, so ids are not quoted.
        people, whose_people = (
            inspection.reference_people,
            {
                "shows_ids": False,
                "of": "`public.reference`",
                "allows_others": True,
            },
        )
    people_set = inspection.each_of(people)
    count, codes, sample_lines = PeopleCount(kind, people or (), people_set), MissingCodes(), []
    genotypes_name = whose_people.get("of", "the genotypes")
    alike = AlikeIds(people or (), people=people_set, of=genotypes_name) if inspection.tell else None
    try:
        names = inspection.names(path)
        if inspection.headers_only:
            return names, []
        sample = sample_outcomes(path, columns=columns, people=people_set if people else None)
        if sample is not None:
            count.add_ids(sample.ids, n_both=sample.n_eligible if people else 0)
            sample_lines.append(str(sample))
            if alike:
                alike.add(sample.ids)
        for table in outcome_chunks(path, columns=columns) if sample is None else [sample.table]:
            shared_rows = count.add(table) if sample is None else count.add_chosen(table)
            if alike and sample is None:
                alike.add(table.index.tolist())
            codes.add(table)
            if judge:
                judge(shared_rows if people else table, count.is_whole)
    except CellError as error:
        is_open = inspection.shows_ids and not is_reference
        return None, [f"`{key}`: {error.quoted if is_open else error}"]
    except DpgrsError as error:
        return None, [f"`{key}`: {error}"]
    if inspection.tell and is_told:
        for line in [
            *sample_lines,
            *(count.in_words() if people else []),
            *alike.in_words(),
            *codes.in_words(),
        ]:
            inspection.tell(f"{path}: {line}")
    if not people:
        return names, []
    checks = inspection["outcomes.checks"]
    problem = count.problem(inspection["outcomes.least_share"], checks=checks, **whose_people)
    return names, [f"`{key}`: `{path}` {problem}"] if problem else []


@contextmanager
def noting(faults: list[str], key: str) -> Iterator[None]:
    """Note the first failure that has to do with a setting."""
    try:
        yield
    except DpgrsError as error:
        faults[:] = faults or [f"`{key}`: {error}"]


def _constants(
    inspection: "Inspection", path: str, used: slice, scales: str | None
) -> tuple[pd.DataFrame | None, list[str]]:
    """Return the constants of outcomes, None without any, and their problems."""
    constants, faults = None, []
    with noting(faults, "outcomes.scales"):
        constants = scales and read_scales(scales)
    try:
        names = inspection.names(path)[used] if scales and not faults else []
    except DpgrsError:
        return None, faults  # reported of the table
    with noting(faults, "outcomes.scales"):
        constants = constants_of(names, constants, path=scales) if names else None
    return constants, faults


def _simulated_outcome_problems(outcomes: "Outcomes") -> list[str]:
    lines = [
        must("outcomes.source", f"be file where `outcomes.{key}` is given", "simulate", "Say `source: file`.")
        for key in ("file", "scales")
        if getattr(outcomes, key) is not None
    ]
    if outcomes.count is None:
        lines.append(
            must("outcomes.count", "be given for simulated outcomes", "null", "Give it, or leave it out.")
        )
    return lines
