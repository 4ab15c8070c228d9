"""What can be seen to be wrong with the tables of a study before any job runs."""

from itertools import zip_longest

from dpgrs.controlled_gates import ENCRYPTED
from dpgrs.errors import DpgrsError, must
from dpgrs.io.phenotypes import (
    FEWEST_OBSERVED,
    constants_of,
    describe_scale,
    outcome_names,
    read_outcomes,
    read_scales,
    standardise,
)
from dpgrs.io.tables import describe_mismatch, read_populations
from dpgrs.types import Metrics

FEW = 3
PUBLIC_CONSTANTS = "Give its public centre and scale, for 0/1 its prevalence, in a table `outcomes.scales`."


def population_problems(cohort, people, *, shows_ids):
    """List what is wrong with the table of populations.

    Parameters
    ----------
    cohort : dict, that section of the configuration.
    people : sequence of str, the ids of the genotypes; None where they are not known.
    shows_ids : bool, whether messages may quote ids and values: of open data alone.

    Returns
    -------
    list of str
    """
    path = cohort["populations"]
    if path is None or cohort["source"] == "simulate":
        return []
    return _read_table("cohort.populations", path, read_populations, people, shows_ids=shows_ids)[1]


def outcome_problems(outcomes, people, *, shows_ids):
    """List what is wrong with the table of outcomes and that of their constants.

    Parameters
    ----------
    outcomes : dict, that section of the configuration.
    people, shows_ids : as in `population_problems`.

    Returns
    -------
    list of str
    """
    path, counts = outcomes["file"], outcomes["count"]
    if outcomes["source"] == "simulate":
        return _simulated_outcome_problems(outcomes)
    if path is None:
        fix = "Give the table, or simulate."
        return [must("outcomes.file", "be a path for `outcomes.source: file`", "null", fix)]
    table, lines = _read_table("outcomes.file", path, read_outcomes, people, shows_ids=shows_ids)
    if table is not None and counts is not None and max(counts) > table.shape[1]:
        wanted = f"be at most {table.shape[1]}, the outcomes in {path}"
        lines.append(must("outcomes.count", wanted, max(counts), "Lower it, or leave it out to use all."))
    if table is None or lines:
        return lines
    table = table.iloc[:, : counts and max(counts)]
    table = table if people is None else table.loc[table.index.isin(people)]
    try:
        return _scale_problems(table, outcomes["scales"], shows_ids=shows_ids)
    except DpgrsError as error:
        return [f"`outcomes.scales`: {error}"]


def reference_outcome_problems(config, people):
    """List what is wrong with the table of outcomes of the public reference.

    Parameters
    ----------
    config : dict from `dpgrs.config.resolve`.
    people : sequence of str, the ids of the reference; None where they are not known.

    Returns
    -------
    list of str
    """
    outcomes, path = config["outcomes"], config["evaluation"]["outcomes"]
    is_used = config["evaluation"]["metrics"] == Metrics.PUBLIC and outcomes["source"] == "file"
    if path is None or not is_used:
        return []
    table, lines = read_reference_table("evaluation.outcomes", path, people)
    used = slice(outcomes["count"] and max(outcomes["count"]))
    try:
        wanted = outcome_names(outcomes["file"])[used] if outcomes["file"] else []
    except DpgrsError:
        return lines  # said of the study's own table
    if table is None or not wanted:
        return lines
    for place, (ours, theirs) in enumerate(zip_longest(wanted, table.columns[used], fillvalue="none"), 1):
        if ours != theirs:
            got = f"{theirs} as outcome {place} of {path} where that has {ours}"
            wanted = "have the outcomes of `outcomes.file` in the same order"
            return [*lines, must("evaluation.outcomes", wanted, got, "Name and order the columns alike.")]
    return lines


def read_reference_table(key, path, people):
    """Read a table of the people of the public reference.

    Parameters
    ----------
    key : str, dotted path of the setting that names it.
    path : str, the table, as `read_outcomes` reads it.
    people : as in `reference_outcome_problems`.

    Returns
    -------
    table : pandas.DataFrame, or None where it cannot be read.
    lines : list of str, one line a problem.
    """
    if is_encrypted(path):
        return None, []  # said by the gates of controlled data
    # A table of private people may be named by mistake, so ids are not quoted.
    return _read_table(key, path, read_outcomes, people, shows_ids=False, of="`public.reference`")


def is_encrypted(path):
    """Tell whether a path is that of a file as dbGaP hands it out."""
    return path.endswith(ENCRYPTED)


def encrypted_line(key, path):
    """Word that a file must be decrypted."""
    return must(key, "be a decrypted file", path, "Decrypt it with `vdb-decrypt` of the SRA Toolkit first.")


def _scale_problems(table, path, *, shows_ids):
    """Read the constants, and judge the values by them where these may be spoken of."""
    constants = None if path is None else constants_of(table.columns, read_scales(path), path=path)
    if not shows_ids:
        return []
    return _value_problems(table if constants is None else standardise(table, constants))


def _value_problems(table):
    """Find outcomes that too few people have, or that are not standardised; name the first of each kind."""
    scale = describe_scale(table)
    rare, raw = (scale.index[scale[kind]] for kind in ("is_rare", "is_raw"))
    lines = []
    standardised = "hold outcomes of mean 0 and standard deviation 1"
    for column in rare[:FEW]:
        wanted = f"have a value for at least {FEWEST_OBSERVED} people of the genotypes in column `{column}`"
        lines.append(must("outcomes.file", wanted, scale["n_observed"][column], "Leave the column out."))
    for column in raw[:FEW]:
        mean, sd = scale["mean"][column], scale["sd"][column]
        got = f"mean {mean:.3g} and standard deviation {sd:.3g} in column `{column}`"
        lines.append(must("outcomes.file", standardised, got, PUBLIC_CONSTANTS))
    n_more = sum(max(len(kind) - FEW, 0) for kind in (rare, raw))
    return lines + ([f"`outcomes.file`: {n_more} more columns like these."] if n_more else [])


def _simulated_outcome_problems(outcomes):
    lines = [
        must("outcomes.source", f"be file where `outcomes.{key}` is given", "simulate", "Say `source: file`.")
        for key in ("file", "scales")
        if outcomes[key] is not None
    ]
    if outcomes["count"] is None:
        lines.append(
            must("outcomes.count", "be given for simulated outcomes", "null", "Give it, or leave it out.")
        )
    return lines


def _read_table(key, path, read, people, **whose):
    """Read a table; return it (None where it cannot be read) and the problems."""
    if is_encrypted(path):
        return None, [encrypted_line(key, path)]
    try:
        table = read(path)
    except DpgrsError as error:
        return None, [f"`{key}`: {error}"]
    mismatch = describe_mismatch(table.index, people, **whose) if people else None
    return table, [f"`{key}`: `{path}` {mismatch}"] if mismatch else []
