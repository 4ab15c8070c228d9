"""The scores to apply: bundles of releases, and scoring files of the PGS Catalog's form."""

import json
import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from dpgrs.errors import DpgrsError, UsageError, shown
from dpgrs.io.allele_matching import is_ambiguous, is_letters, other_strand
from dpgrs.io.genome_builds import CHROMOSOMES
from dpgrs.io.scoring_files import (
    NOT_REPORTED,
    Head,
    head_of,
    known_rows,
    open_effects,
    require_build,
)
from dpgrs.io.tables.phenotypes import read_scales
from dpgrs.io.tables.tables import header_of, number_of, rows_of

STATEMENT, SCALES, COVARIATES = "privacy_statement.json", "outcome_scales.tsv", "covariate_weights.tsv"
# Where scoring files of a benchmark say that they are none of a release.
SOURCE = "dp_source"
# Why a variant of a score cannot be looked for.
NO_PLACE, OTHER_CHROMOSOME = "no position", "chromosome other than 1-22 and X"
COLUMNS = ("contig", "position", "effect_allele", "other_allele", "frequency", "is_additive")
NOT_LETTERS, NOT_ADDITIVE = "alleles not of A, C, G, T", "not additive"


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


@dataclass(frozen=True)
class Sites:
    """Variants of scores, each with its effect allele.

    Attributes
    ----------
    contig, position, effect_allele, other_allele : (n_variants,) arrays, see
        `dpgrs.io.scoring_files.EffectRows`.
    frequency : (n_variants,) float64, public, of the effect allele, NaN where not told.
    problem : (n_variants,) object array of str, why a variant cannot be looked for; else empty.
    """

    contig: np.ndarray
    position: np.ndarray
    effect_allele: np.ndarray
    other_allele: np.ndarray
    frequency: np.ndarray
    problem: np.ndarray

    def __len__(self):
        return len(self.position)

    @cached_property
    def contigs(self):
        """The contigs on which there is something to look for."""
        return sorted(set(self.contig[self.problem == ""]))

    def names(self, rows):
        """Yield how messages name variants."""
        for row in rows:
            alleles = f"{self.effect_allele[row]}:{self.other_allele[row] or '?'}"
            yield shown(f"{self.contig[row]}:{self.position[row]}:{alleles}")


@dataclass
class SharedSites:
    """Scores of the same variants.

    Attributes
    ----------
    outcomes : list of Outcome
    rows : (n_variants,) int64, their variants among those of all scores.
    weights : (n_variants, n_outcomes) float64
    """

    outcomes: list
    rows: np.ndarray
    weights: np.ndarray


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
        No scoring file, a damaged one, two scores of one name.
    """
    outcomes = [outcome for path in paths for outcome in _outcomes_of(Path(path))]
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
            f"`{both[1]}`. Leave one out, or change its `#pgs_id=`."
        )
    return [one if one.head else replace(one, head=head_of(one.path)) for one in outcomes]


def read_scores(outcomes, *, build):
    """Read scores.

    Parameters
    ----------
    outcomes : list of Outcome, from `list_scores`.
    build : ``GRCh37``, ``GRCh38`` or None, of the target.

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
    for outcome in outcomes:
        columns, weights, outcome = _read(outcome, build)
        group = next((one for one in groups if _are_same(one[0], columns)), None)
        if group is None:
            groups.append((columns, [outcome], [weights], _checked(outcome.path, columns, build)))
        else:
            group[1].append(outcome)
            group[2].append(weights)
    every, rows = _union([sites for *_, sites in groups])
    return every, [
        SharedSites(members, own, np.stack(weights, axis=1))
        for own, (_, members, weights, _) in zip(rows, groups, strict=True)
    ]


def files_of_scores(paths):
    """List the files that scores are read from, with what a bundle says of them, as pathlib.Path.

    Raises
    ------
    DpgrsError
        As `list_scores`, as far as names of files tell.
    """
    own = (
        path / name
        for path in map(Path, paths)
        for name in (STATEMENT, SCALES, COVARIATES)
        if (path / name).is_file()
    )
    return [outcome.path for path in paths for outcome in _outcomes_of(Path(path))] + list(own)


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
        return [_outcome_of(path)]
    if not (path / STATEMENT).is_file():
        files = sorted(one for one in path.iterdir() if one.name.endswith((".txt", ".txt.gz")))
        if not files:
            raise DpgrsError(
                f"`{path}` must be the bundle of a release, or a folder of scoring files, got one without "
                f"{STATEMENT} and without .txt.gz. Name the folder `release` of a study, or a file."
            )
        return [_outcome_of(one) for one in files]
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


def _outcome_of(path):
    """Return the score of a single file, named by its id in the Catalog, or by the file."""
    head = head_of(path)
    name = head.remarks.get("pgs_id", "")
    if name in ("", NOT_REPORTED):
        name = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    return Outcome(name, path, head=head)


def _open(outcome, build):
    file = open_effects(outcome.path, build=build, head=outcome.head)
    if file.is_marginal:
        raise DpgrsError(
            f"`{outcome.path}` must name a column effect_weight, weights that go together, got effects of "
            "one variant at a time. Make a score of them first (LDpred2, PRS-CS)."
        )
    return file


def _read(outcome, build):
    """Return the columns of a score as a dict, its weights, and the outcome with its constant."""
    path = outcome.path
    file = _open(outcome, build)
    parts = list(file.parts())
    if not sum(len(part.effect) for part in parts):
        raise DpgrsError(f"`{path}` must hold a variant, got only the names of columns. Fetch it again.")
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    columns["id"] = None if parts[0].id is None else np.concatenate([part.id for part in parts])
    weights = np.concatenate([part.effect for part in parts])
    if np.isnan(weights).any():
        row = int(np.isnan(weights).argmax()) + 1
        raise DpgrsError(
            f"`{path}`, row {row}: effect_weight must be a finite number, got another. Correct the cell, or "
            "remove the row."
        )
    told = {"constant": number_of(file.remarks.get("constant", "")), "source": file.remarks.get(SOURCE, "")}
    return columns, weights, replace(outcome, **told)


def _checked(path, columns, build):
    """Return the variants of a score, once for all scores that have the same."""
    sites = Sites(*(columns[name] for name in COLUMNS[:-1]), problem=_problems(columns))
    _require_distinct(path, sites)
    if columns["id"] is not None:
        require_build(path, build, [known_rows(columns["contig"], columns["position"], columns["id"])])
    return sites


def _problems(columns):
    is_additive = columns["is_additive"]
    found = np.full(len(is_additive), "", dtype=object)
    chromosomes, letters = set(CHROMOSOMES), {}
    for names in ("effect_allele", "other_allele"):
        letters |= {text: is_letters(text) for text in set(columns[names])}
    letters |= {"": True}
    is_letter = [letters[one] and one != "" and letters[two] for one, two in _alleles(columns)]
    found[~np.array(is_letter, dtype=bool)] = NOT_LETTERS
    is_known = {contig: contig in chromosomes for contig in set(columns["contig"])}
    found[~np.array([is_known[contig] for contig in columns["contig"]], dtype=bool)] = OTHER_CHROMOSOME
    found[(columns["position"] < 1) | (columns["contig"] == "")] = NO_PLACE
    found[~is_additive] = NOT_ADDITIVE
    return found


def _alleles(columns):
    return zip(columns["effect_allele"], columns["other_allele"], strict=True)


def _require_distinct(path, sites):
    """Refuse a variant that is there twice, also with its alleles swapped or from the other strand."""
    alleles = zip(sites.effect_allele, sites.other_allele, strict=True)
    keys, same = {}, np.flatnonzero((sites.effect_allele == sites.other_allele) & (sites.problem == ""))
    if len(same):
        name = next(sites.names(same))
        raise DpgrsError(
            f"`{path}`, row {same[0] + 1}: the effect allele must differ from the other one, got {name}. "
            "Correct the row, or remove it."
        )
    kinds = {}
    for row, (contig, position, pair) in enumerate(
        zip(sites.contig, sites.position.tolist(), alleles, strict=True)
    ):
        if sites.problem[row]:
            continue
        kind = kinds.get(pair)
        if kind is None:
            kind = kinds[pair] = _either_way(*pair)
        first = keys.setdefault((contig, position, kind), row)
        if first != row:
            name, other = sites.names([row, first])
            raise DpgrsError(
                f"`{path}`, row {row + 1}: every variant must be there once, got {name}, which is {other} of "
                f"row {first + 1}. Remove one of the two."
            )


def _either_way(effect, other):
    """Name a pair of alleles, whichever is the effect's, and on whichever strand one letter is told."""
    pair = tuple(sorted((effect, other)))
    if len(effect) != len(other) or is_ambiguous(effect, other):
        return pair
    return min(pair, tuple(sorted(map(other_strand, pair))))


def _are_same(one, other):
    """Tell whether two scores have the same variants in the same order."""
    return len(one["position"]) == len(other["position"]) and all(
        np.array_equal(one[name], other[name], equal_nan=name == "frequency") for name in COLUMNS
    )


def _union(lists):
    """Return the variants of all lists, each once, and the rows of each list among them."""
    if len(lists) == 1:
        return lists[0], [np.arange(len(lists[0]))]
    keys, rows, source = {}, [], []
    for number, sites in enumerate(lists):
        own = zip(
            sites.contig,
            sites.position.tolist(),
            sites.effect_allele,
            sites.other_allele,
            sites.problem,
            strict=True,
        )
        found = np.fromiter(
            (keys.setdefault(key, len(keys)) for key in own), dtype=np.int64, count=len(sites)
        )
        new = np.flatnonzero(found >= (sum(map(len, source))))
        new = new[np.unique(found[new], return_index=True)[1]]
        source.append([(number, int(row)) for row in new])
        rows.append(found)
    parts = [
        {name: getattr(lists[number], name)[[row for _, row in own]] for name in Sites.__dataclass_fields__}
        for number, own in enumerate(source)
    ]
    every = Sites(
        **{name: np.concatenate([part[name] for part in parts]) for name in Sites.__dataclass_fields__}
    )
    for sites, own in zip(lists, rows, strict=True):
        # Another file may tell a frequency.
        is_new = np.isnan(every.frequency[own]) & ~np.isnan(sites.frequency)
        every.frequency[own[is_new]] = sites.frequency[is_new]
    return every, rows
