"""What can be seen to be wrong with the tables of a study before any job runs."""

from contextlib import contextmanager
from itertools import zip_longest

import pandas as pd

from dpgrs.errors import CellError, DpgrsError, must
from dpgrs.io.tables.alike_ids import AlikeIds
from dpgrs.io.tables.missing_codes import MissingCodes
from dpgrs.io.tables.people_counts import PeopleCount
from dpgrs.io.tables.phenotypes import (
    OutcomeScale,
    constants_of,
    describe_scale,
    outcome_chunks,
    read_scales,
    standardise,
)
from dpgrs.io.tables.table_samples import describe_chosen, sample_outcomes
from dpgrs.io.tables.tables import column_names, describe_mismatch, read_populations
from dpgrs.preflight.controlled import encrypted_line, is_encrypted
from dpgrs.study.table_cohort import takes_columns
from dpgrs.study.table_values import raw_problems
from dpgrs.types import Metrics, TableCheck

SIMULATED = ("outcomes.factors", "outcomes.network", "outcomes.prevalence")


def population_problems(inspection):
    """List what is wrong with the table of populations."""
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


def outcome_problems(inspection):
    """List what is wrong with the table of outcomes and that of their constants."""
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

    def judge(table, is_whole):
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
        wanted = f"be at most {len(names)}, the outcomes in {path}"
        lines.append(must("outcomes.count", wanted, max(counts), "Lower it, or leave it out to use all."))
    if names is None or faults:
        return lines + faults
    is_judged = inspection.shows_ids and TableCheck.SCALE in outcomes.checks
    if inspection.headers_only or not is_judged:
        return lines
    return lines + raw_problems(chosen[0] if chosen else scale.describe())


def _own_column_problems(inspection):
    """List what is wrong with the outcomes that are columns of the study's own table, and their constants."""
    found, outcomes, faults = inspection.table.found, inspection.config.outcomes, []
    if found is None:
        return []  # said of that table
    own = found.outcomes
    table = pd.DataFrame(own.values, columns=own.names).iloc[:, : outcomes.count and max(outcomes.count)]
    with noting(faults, "outcomes.scales"):
        if path := outcomes.scales:
            table = standardise(table, constants_of(list(table), read_scales(path), path=path))
    describe = describe_scale if found.is_whole else describe_chosen
    return faults or raw_problems(describe(table), key="outcomes.columns")


def simulated_problems(inspection, key):
    """Refuse a term of simulated outcomes beside a table."""
    value = inspection[key]
    if inspection["outcomes.source"] == "simulate" or value is None:
        return []
    return [f"`{key}` is for `outcomes.source: simulate`, got {value:g} with a table. Leave it out."]


def network_problems(inspection):
    """Refuse networks beside factors, of linear effects, and beside a prevalence, of a normal liability."""
    width, key = inspection["outcomes.network"], "outcomes.network"
    others = [name for name in ("outcomes.factors", "outcomes.prevalence") if inspection[name] is not None]
    if width is None or inspection["outcomes.source"] != "simulate":
        return []
    return [must(key, f"be null beside `{name}`", width, "Leave one out.") for name in others]


def reference_problems(inspection):
    """List what is wrong with the table of outcomes of the public reference."""
    outcomes, key = inspection.config.outcomes, "evaluation.outcomes"
    path = inspection[key]
    is_used = inspection["evaluation.metrics"] == Metrics.PUBLIC and outcomes.source == "file"
    if path is None or not is_used:
        return []
    used = slice(outcomes.count and max(outcomes.count))
    names, lines = count_table(inspection, key, kind="outcome", columns=used, is_reference=True)
    try:
        wanted = inspection.names(outcomes.file)[used] if outcomes.file else []
    except DpgrsError:
        return lines  # said of the study's own table
    if names is None or not wanted:
        return lines
    for place, (ours, theirs) in enumerate(zip_longest(wanted, names[used], fillvalue="none"), 1):
        if ours != theirs:
            got = f"{theirs} as outcome {place} of {path} where that has {ours}"
            wanted = "have the outcomes of `outcomes.file` in the same order"
            return [*lines, must(key, wanted, got, "Name and order the columns alike.")]
    return lines


def count_table(inspection, key, *, kind, columns=None, judge=None, is_told=True, is_reference=False):
    """Read a table of outcomes or covariates, and count whom it shares with the genotypes.

    A large one is read for its ids, and for the values of people chosen at random; the operator is told so.

    Parameters
    ----------
    inspection : Inspection, whose operator alone may see counts of a release.
    key : str, dotted path of the setting that names it.
    kind : ``outcome`` or ``covariate``.
    columns : as in `read_outcomes`.
    judge : function of each part, its people with genotypes alone, and of whether all parts together are all
        these people, or None.
    is_told : bool, whether the operator is told of the counts.
    is_reference : bool, whether it is of the people of the public reference.

    Returns
    -------
    names : list of str, all columns of the table; None where it cannot be read.
    lines : list of str, one line a problem.
    """
    path, people, whose = inspection[key], inspection.people, {"shows_ids": inspection.shows_ids}
    if is_reference:
        if is_encrypted(path):
            return None, []  # said by the checks of controlled data
        # A table of private people may be named by mistake, so ids are not quoted.
        people, whose = (
            inspection.reference_people,
            {
                "shows_ids": False,
                "of": "`public.reference`",
                "allows_others": True,
            },
        )
    each = inspection.each_of(people)
    count, codes, told = PeopleCount(kind, people or (), each), MissingCodes(), []
    of = whose.get("of", "the genotypes")
    alike = AlikeIds(people or (), people=each, of=of) if inspection.tell else None
    try:
        names = inspection.names(path)
        if inspection.headers_only:
            return names, []
        sample = sample_outcomes(path, columns=columns, people=each if people else None)
        if sample is not None:
            count.add_ids(sample.ids, n_both=sample.n_eligible if people else 0)
            told.append(str(sample))
            if alike:
                alike.add(sample.ids)
        for table in outcome_chunks(path, columns=columns) if sample is None else [sample.table]:
            own = count.add(table) if sample is None else count.add_chosen(table)
            if alike and sample is None:
                alike.add(table.index.tolist())
            codes.add(table)
            if judge:
                judge(own if people else table, count.is_whole)
    except CellError as error:
        is_open = inspection.shows_ids and not is_reference
        return None, [f"`{key}`: {error.quoted if is_open else error}"]
    except DpgrsError as error:
        return None, [f"`{key}`: {error}"]
    if inspection.tell and is_told:
        for line in [
            *told,
            *(count.in_words() if people else []),
            *alike.in_words(),
            *codes.in_words(),
        ]:
            inspection.tell(f"{path}: {line}")
    if not people:
        return names, []
    checks = inspection["outcomes.checks"]
    problem = count.problem(inspection["outcomes.least_share"], checks=checks, **whose)
    return names, [f"`{key}`: `{path}` {problem}"] if problem else []


@contextmanager
def noting(faults, key):
    """Note the first failure that has to do with a setting."""
    try:
        yield
    except DpgrsError as error:
        faults[:] = faults or [f"`{key}`: {error}"]


def _constants(inspection, path, used, scales):
    """Return the constants of outcomes, None without any, and what is wrong with them."""
    constants, faults = None, []
    with noting(faults, "outcomes.scales"):
        constants = scales and read_scales(scales)
    try:
        names = inspection.names(path)[used] if scales and not faults else []
    except DpgrsError:
        return None, faults  # said of the table
    with noting(faults, "outcomes.scales"):
        constants = constants_of(names, constants, path=scales) if names else None
    return constants, faults


def _simulated_outcome_problems(outcomes):
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
