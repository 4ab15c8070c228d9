"""The scores to apply: bundles of releases, and scoring files of the PGS Catalog's form."""

import json
import math
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

import numpy as np

from dpgrs.errors import DpgrsError, UsageError, shown
from dpgrs.io.effect_types import APPLIED, copy_effects
from dpgrs.io.effects_head import NOT_STATED, Head, head_of
from dpgrs.io.scoring_files import known_rows, open_effects, require_build
from dpgrs.io.tables.phenotypes import read_scales
from dpgrs.io.tables.tables import header_of, number_of, rows_of
from dpgrs.scoring.seals import STATEMENT, require_seals
from dpgrs.scoring.sites import REFUSE, REPEATED, Sites, settle_duplicates, site_problems, union_of

SCALES, COVARIATES = "outcome_scales.tsv", "covariate_weights.tsv"
# Where scoring files of a benchmark say that they are none of a release.
SOURCE = "dp_source"
COLUMNS = ("contig", "position", "effect_allele", "other_allele", "frequency", "types")


@dataclass(frozen=True)
class Outcome:
    """A score as it is named in the results.

    Attributes
    ----------
    name : str
    path : pathlib.Path of its scoring file.
    constant : float, what makes it a prediction; NaN where it is not told.
    centre, scale : float, of the outcome's own unit; 0 and 1 where it is in standard deviations.
    has_unit : bool, whether centre and scale are those of the outcome.
    is_binary : bool, whether the outcome is known to be 0 or 1, so that a prediction is a share of cases.
    has_covariates : bool, whether the prediction also takes covariates, which stay at their centres.
    source : str, by its file what protects those whom it was trained on, as ``benchmark: not private``; empty
        where the file says nothing of it.
    head : Head of the file; None where it was not read yet.
    column : str, which of the file's scores, see `dpgrs.io.effects_head.Head.weight_columns`.
    """

    name: str
    path: Path
    constant: float = math.nan
    centre: float = 0.0
    scale: float = 1.0
    has_unit: bool = False
    is_binary: bool = False
    has_covariates: bool = False
    source: str = ""
    head: Head | None = field(default=None, compare=False)
    column: str = ""


@dataclass
class SharedSites:
    """Scores of the same variants.

    Attributes
    ----------
    outcomes : list of Outcome
    rows : (n_variants,) int64, their variants among those of all scores.
    weights : (n_variants, n_outcomes) float64, what the first copy of an effect allele adds.
    none : (n_variants, n_outcomes) float64, what a person without a copy gets; 0 everywhere if None.
    second : (n_variants, n_outcomes) float64, what the second copy adds beyond the first; 0 if None.
    types : (n_variants,) object array of str, see `dpgrs.io.effect_types.effect_types`; None of components.
    """

    outcomes: list
    rows: np.ndarray
    weights: np.ndarray
    none: np.ndarray | None = None
    second: np.ndarray | None = None
    types: np.ndarray | None = None


def list_scores(paths):
    """List scores, of which the head of each file is read.

    Parameters
    ----------
    paths : list of paths: bundles of releases, folders of scoring files, and single ones.

    Returns
    -------
    list of Outcome

    Raises
    ------
    DpgrsError
        No scoring file, a damaged one, two scores of one name, a bundle that was changed.
    """
    outcomes = []
    for path in map(Path, paths):
        own = _outcomes_of(path)
        require_seals(path, [outcome.path for outcome in own] + _tables_of(path))
        outcomes += own
    if unseen := next((one for one in outcomes if not one.name.isprintable()), None):
        raise DpgrsError(
            f"`{unseen.path}` must have a name without control characters, got {shown(unseen.name)}. "
            "Change its `#pgs_id=`."
        )
    twice = [name for name, times in Counter(outcome.name for outcome in outcomes).items() if times > 1]
    if twice:
        both = [outcome.path for outcome in outcomes if outcome.name == twice[0]]
        raise UsageError(
            f"Every score must have a name of its own, got {shown(twice[0])} in `{both[0]}` and in "
            f"`{both[1]}`. Leave one out, or change its `#pgs_id=` or the name of its column of weights."
        )
    return [one if one.head else replace(one, head=head_of(one.path)) for one in outcomes]


def read_scores(outcomes, *, build, duplicates=REFUSE):
    """Read scores.

    Parameters
    ----------
    outcomes : list of Outcome, from `list_scores`.
    build : ``GRCh37``, ``GRCh38`` or None, of the target.
    duplicates : str of `DUPLICATES`, what becomes of a variant that a score lists again.

    Returns
    -------
    sites : Sites, the variants of all scores.
    shared : list of SharedSites, those scores together that have the same variants in the same order.

    Raises
    ------
    DpgrsError
        A damaged file, another genome build, a weight that is no number, a variant twice, an effect allele
        that is also the other one.
    """
    groups = []
    for _, own in groupby(outcomes, key=lambda outcome: outcome.path):
        columns, effects, members = _read(list(own), build)
        group = next((one for one in groups if _are_same(one[0], columns)), None)
        if group is None:
            sites = _checked(members[0].path, columns, build, duplicates)
            groups.append((columns, sites, members, [effects]))
        else:
            group[2].extend(members)
            group[3].append(effects)
        _require_weights(members, effects, groups[-1][1] if group is None else group[1])
    every, rows = union_of([sites for _, sites, *_ in groups])
    return every, [
        _shared_sites(columns, sites, members, own, parts)
        for own, (columns, sites, members, parts) in zip(rows, groups, strict=True)
    ]


def _shared_sites(columns, sites, members, rows, parts):
    """Put the scores of the same variants together; `parts` are lists of what copies add, file by file."""
    joined = []
    for values in zip(*parts, strict=True):
        if all(one is None for one in values):
            joined.append(None)
            continue
        shapes = [first.shape for _, first, _ in parts]
        own = [np.zeros(shape) if one is None else one for one, shape in zip(values, shapes, strict=True)]
        joined.append(np.concatenate(own, axis=1))
        joined[-1][sites.problem == REPEATED] = 0
    none, first, second = joined
    return SharedSites(members, rows, first, none, second, columns["types"])


def files_of_scores(paths):
    """List the files that scores are read from, with what a bundle says of them, as pathlib.Path.

    Raises
    ------
    DpgrsError
        As `list_scores`, as far as names of files tell.
    """
    paths = [Path(path) for path in paths]
    tables = [table for path in paths for table in _tables_of(path)]
    return [outcome.path for path in paths for outcome in _outcomes_of(path)] + tables


def _tables_of(path):
    """List what a bundle says of its scores beside their files; a path that is no bundle has no such file."""
    return [path / name for name in (STATEMENT, SCALES, COVARIATES) if (path / name).is_file()]


def require_readable(outcomes, *, build):
    """Raise the DpgrsError that `read_scores`, of the same arguments, would raise by heads of files alone."""
    for outcome in outcomes:
        _open(outcome, build)


def score_builds(outcomes):
    """Return the builds that all scores can be read in, a set; None where none says any."""
    stated = [set(outcome.head.builds) for outcome in outcomes if outcome.head.builds]
    return set.intersection(*stated) if stated else None


def _outcomes_of(path):
    """List the scores of a bundle, of a folder of scoring files, or of one."""
    if not path.is_dir():
        return _outcomes_in(path)
    if not (path / STATEMENT).is_file():
        files = sorted(one for one in path.iterdir() if one.name.endswith((".txt", ".txt.gz")))
        if not files:
            raise DpgrsError(
                f"`{path}` must be the bundle of a release, or a folder of scoring files, got one without "
                f"{STATEMENT} and without .txt.gz. Name the folder `release` of a study, or a file."
            )
        return [outcome for one in files for outcome in _outcomes_in(one)]
    try:
        scores = json.loads((path / STATEMENT).read_text(encoding="utf-8"))["scores"]
        named = {one["outcome"]: path / one["file"] for one in scores}
    except (OSError, ValueError, KeyError, TypeError):
        raise DpgrsError(
            f"`{path / STATEMENT}` must be the statement of a release, which lists its scores, got another "
            "file. Check the bundle: dpgrs release verify"
        ) from None
    scales = read_scales(path / SCALES) if (path / SCALES).is_file() else None
    binary = set() if scales is None else _binary_outcomes(path / SCALES)
    has_covariates, found = (path / COVARIATES).is_file(), []
    for name, file in named.items():
        units = {}
        if scales is not None and name in scales.index:
            units = {"centre": scales["centre"][name], "scale": scales["scale"][name], "has_unit": True}
            units["is_binary"] = name in binary
        found.append(Outcome(name, file, has_covariates=has_covariates, **units))
    return found


def _binary_outcomes(path):
    """Return the names of the 0/1 outcomes in a bundle's table of constants, a set."""
    rows = rows_of(path)
    header = header_of(rows, path)
    if "is_binary" not in header:
        return set()
    name, kind = header.index("outcome"), header.index("is_binary")
    return {cells[name] for _, cells in rows if cells[kind] == "True"}


def _outcomes_in(path):
    """Return the scores of a single file, named by its id in the Catalog, by the file, or by columns."""
    head = head_of(path)
    name = head.remarks.get("pgs_id", "")
    if name.lower() in NOT_STATED:
        name = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    return [Outcome(one or name, path, head=head, column=one) for one in head.weight_columns or ("",)]


def _open(outcome, build):
    file = open_effects(outcome.path, build=build, head=outcome.head, several=True)
    if file.is_marginal:
        got = "odds or hazard ratios" if "beta" not in file.columns else "effects of one variant at a time"
        raise DpgrsError(
            f"`{outcome.path}` must name a column effect_weight, weights that go together, got {got}. Make a "
            "score of the effects of a GWAS first (LDpred2, PRS-CS). If ratios are of a score, write their "
            "natural logarithms as effect_weight."
        )
    return file


def _read(outcomes, build):
    """Return the columns of a file as a dict, what copies add in its scores, and these with their constants.

    What copies add are the three arrays of `dpgrs.io.effect_types.copy_effects`.
    """
    path = outcomes[0].path
    file = _open(outcomes[0], build)
    parts = list(file.parts())
    if not sum(len(part.position) for part in parts):
        raise DpgrsError(f"`{path}` must hold a variant, got only the names of columns. Fetch it again.")
    if len(accessions := frozenset().union(*(part.accessions for part in parts))) > 1:
        raise DpgrsError(
            f"`{path}` must hold one score, got {len(accessions)} in the column `accession`. Write each "
            "score to its own file."
        )
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    columns["id"] = None if parts[0].id is None else np.concatenate([part.id for part in parts])
    frequency = columns["frequency"]
    if len(bad := np.flatnonzero((frequency < 0) | (frequency > 1))):
        raise DpgrsError(
            f"`{path}`, row {bad[0] + 1}: the frequency of an allele must be from 0 to 1, got another. "
            "Correct the column, or remove it."
        )
    # What a haplotype adds on average does not follow from the frequency of an allele.
    frequency[~np.isin(columns["types"].astype(str), APPLIED)] = np.nan
    types, effects, dosage_weights = (
        None if getattr(parts[0], name) is None else np.concatenate([getattr(part, name) for part in parts])
        for name in ("types", "effects", "dosage_weights")
    )
    own = [file.scores.index(outcome.column) for outcome in outcomes]
    effects = copy_effects(types, effects[:, own], dosage_weights)
    constant = _constant_of(path, file.remarks, len(file.scores))
    remarks = {"constant": constant, "source": file.remarks.get(SOURCE, "")}
    return columns, effects, [replace(outcome, **remarks) for outcome in outcomes]


def _require_weights(outcomes, effects, sites):
    """Refuse a variant without a weight, unless it cannot be used; such a one then weighs nothing."""
    is_unknown = np.any([np.isnan(values) for values in effects if values is not None], axis=0)
    bad, of_score = np.nonzero(is_unknown & (sites.problem == "")[:, np.newaxis])
    if len(bad):
        names, column = outcomes[0].head.names, outcomes[of_score[0]].column
        place = outcomes[0].head.weight_columns.get(column)
        name = "effect_weight" if place is None else names[place]
        raise DpgrsError(
            f"`{outcomes[0].path}`, row {bad[0] + 1}: {name} must be a finite number, got another. Correct "
            "the cell, or remove the row."
        )
    for values in effects:
        if values is not None:
            values[is_unknown] = 0


def _constant_of(path, remarks, n_scores):
    """Return the constant that a file states, NaN if it states none."""
    text = remarks.get("constant", "")
    constant = number_of(text)
    if math.isnan(constant) and text.lower() not in NOT_STATED:
        raise DpgrsError(f"`{path}`: `#constant=` must be a finite number, got {shown(text)}. Correct it.")
    if n_scores > 1 and not math.isnan(constant):
        raise DpgrsError(
            f"`{path}`: `#constant=` must be of one score, got {n_scores} columns of weights. Leave it out, "
            "or write each score to its own file."
        )
    return constant


def _checked(path, columns, build, duplicates):
    """Return the variants of a score, once for all scores that have the same."""
    sites = Sites(*(columns[name] for name in COLUMNS[:-1]), problem=site_problems(columns))
    settle_duplicates(path, sites, duplicates=duplicates)
    if columns["id"] is not None:
        require_build(path, build, [known_rows(columns["contig"], columns["position"], columns["id"])])
    return sites


def _are_same(one, other):
    """Tell whether two scores have the same variants in the same order."""
    return len(one["position"]) == len(other["position"]) and all(
        np.array_equal(one[name], other[name], equal_nan=name == "frequency") for name in COLUMNS
    )
