"""The scores to apply: bundles of releases, and scoring files of the PGS Catalog's form."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np

from dpgrs.errors import DpgrsError, UsageError, shown
from dpgrs.io.effect_types import APPLIED, copy_effects
from dpgrs.io.effects_head import NOT_STATED, Head, head_of
from dpgrs.io.files import file_digest
from dpgrs.io.scoring_files import EffectsFile, known_rows, open_effects, require_build
from dpgrs.io.tables.outcome_scales import read_scales
from dpgrs.io.tables.tables import header_of, number_of, rows_of
from dpgrs.scoring.sites import REFUSE, REPEATED, Sites, settle_duplicates, site_problems, union_of

STATEMENT, SUMS = "privacy_statement.json", "SHA256SUMS"


def require_seals(path: Path, files: Iterable[Path]) -> None:
    """Refuse a bundle, or files in one, that were changed after they were sealed.

    The path is a bundle, a scoring file, or a folder of scoring files; `files` are those that are read, and
    other files of a bundle are checked with it. Only digests are compared: `dpgrs release verify` also checks
    the contents of files. A changed or missing file, and one that a list lacks, are refused. Files outside
    bundles have no seals.
    """
    path = path.absolute()
    folder = next(
        (parent for parent in islice((path, *path.parents), 3) if (parent / STATEMENT).is_file()), None
    )
    if folder is None:
        return
    lists = {SUMS: _sums_of(folder), STATEMENT: _digests_of(folder)}
    names = {file.absolute().relative_to(folder).as_posix() for file in files} | {STATEMENT}
    if path == folder:
        names |= set().union(*lists.values())
    for name in sorted(names - {SUMS}):
        digest = _digest_of(folder / name)
        # A statement does not list itself.
        required_lists = [SUMS] if name == STATEMENT else [SUMS, STATEMENT]
        wrong = [
            listing for listing in required_lists if digest is None or lists[listing].get(name) != digest
        ]
        if wrong:
            got = "no file" if digest is None else "another"
            raise DpgrsError(
                "bundle-file-changed",
                f"`{folder / name}` must have the digest that {wrong[0]} lists, got {got}: the bundle was "
                f"changed after it was sealed. Get it again, and check it: dpgrs release verify {folder}",
            )


def _sums_of(folder: Path) -> dict[str, str]:
    """Return the digests in a bundle's list of sums, by name."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
        return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    except (OSError, ValueError):
        raise DpgrsError(
            "bundle-without-digests",
            f"`{folder / SUMS}` must list the digests of a bundle's files, got none. Get the bundle again.",
        ) from None


def _digests_of(folder: Path) -> dict[str, str]:
    """Return the digests in a bundle's statement, by name."""
    try:
        return dict(json.loads((folder / STATEMENT).read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        raise DpgrsError(
            "not-a-statement",
            f"`{folder / STATEMENT}` must be the statement of a release, which lists its files, got another "
            f"file. Check the bundle: dpgrs release verify {folder}",
        ) from None


def _digest_of(path: Path) -> str | None:
    try:
        return file_digest(path)
    except OSError:
        return None


SCALES, COVARIATES = "outcome_scales.tsv", "covariate_weights.tsv"
# Where scoring files of a benchmark say that they are none of a release.
SOURCE = "dp_source"
COLUMNS = ("contig", "position", "effect_allele", "other_allele", "frequency", "types")


@dataclass(frozen=True)
class Outcome:
    """A score as it is named in the results."""

    name: str
    path: Path  # of its scoring file
    constant: float = math.nan  # what makes it a prediction; NaN if not stated
    centre: float = 0.0  # of the outcome's own unit; 0 in standard deviations
    scale: float = 1.0  # of the outcome's own unit; 1 in standard deviations
    has_unit: bool = False  # whether centre and scale are in the outcome's own unit
    # Whether the outcome is known to be 0 or 1, so that a prediction is a share of cases.
    is_binary: bool = False
    has_covariates: bool = False  # whether the prediction also takes covariates, which stay at their centres
    # What protects the people it was trained on, by its file, as ``benchmark: not private``; or empty.
    source: str = ""
    head: Head | None = field(default=None, compare=False)  # of the file; None until it is read
    column: str = ""  # which of the file's scores, see `dpgrs.io.effects_head.Head.weight_columns`


@dataclass
class SharedSites:
    """Scores of the same variants."""

    outcomes: list[Outcome]
    rows: np.ndarray  # (n_variants,) int64, their variants among those of all scores
    weights: np.ndarray  # (n_variants, n_outcomes) float64, what the first copy of an effect allele adds
    # (n_variants, n_outcomes) float64, what a person without a copy gets; None: 0.
    none: np.ndarray | None = None
    # (n_variants, n_outcomes) float64, what the second copy adds beyond the first; None: 0.
    second: np.ndarray | None = None
    # (n_variants,) object array of str, see `effect_types`; None for components.
    types: np.ndarray | None = None


def list_scores(paths: Sequence[Path | str]) -> list[Outcome]:
    """List scores of bundles of releases, folders of scoring files, and single files, whose heads are read.

    No scoring file, a damaged one, two scores of one name, and a bundle that was changed are refused.
    """
    outcomes = []
    for path in map(Path, paths):
        path_outcomes = _outcomes_of(path)
        require_seals(path, [outcome.path for outcome in path_outcomes] + _tables_of(path))
        outcomes += path_outcomes
    if odd := next((unheaded for unheaded in outcomes if not unheaded.name.isprintable()), None):
        raise DpgrsError(
            "score-name-control-characters",
            f"`{odd.path}` must have a name without control characters, got {shown(odd.name)}. "
            "Change its `#pgs_id=`.",
        )
    twice = [name for name, times in Counter(outcome.name for outcome in outcomes).items() if times > 1]
    if twice:
        both = [outcome.path for outcome in outcomes if outcome.name == twice[0]]
        raise UsageError(
            "score-name-twice",
            f"Every score must have a name of its own, got {shown(twice[0])} in `{both[0]}` and in "
            f"`{both[1]}`. Leave one out, or change its `#pgs_id=` or the name of its column of weights.",
        )
    return [
        unheaded if unheaded.head else replace(unheaded, head=head_of(unheaded.path)) for unheaded in outcomes
    ]


def read_scores(
    outcomes: Sequence[Outcome], *, build: str | None, duplicates: str = REFUSE
) -> tuple[Sites, list[SharedSites]]:
    """Read scores from `list_scores` in a target's build: the variants of all, and scores with the same
    variants.

    Scores are together if they have the same variants in the same order. `duplicates` of `DUPLICATES` decides
    what becomes of a variant that a score lists again. A damaged file, another genome build, a weight that is
    no number, and an effect allele that is also the other one are refused.
    """
    groups = []
    for _, file_outcomes in groupby(outcomes, key=lambda outcome: outcome.path):
        columns, effects, members = _read(list(file_outcomes), build)
        group = next((earlier for earlier in groups if _are_same(earlier[0], columns)), None)
        if group is None:
            sites = _checked(members[0].path, columns, build, duplicates)
            groups.append((columns, sites, members, [effects]))
        else:
            group[2].extend(members)
            group[3].append(effects)
        _require_weights(members, effects, groups[-1][1] if group is None else group[1])
    every, rows = union_of([sites for _, sites, *_ in groups])
    return every, [
        _shared_sites(columns, sites, members, list_rows, effects_by_file)
        for list_rows, (columns, sites, members, effects_by_file) in zip(rows, groups, strict=True)
    ]


def _shared_sites(
    columns: dict[str, Any],
    sites: Sites,
    members: list[Outcome],
    rows: np.ndarray,
    effects_by_file: Sequence[tuple[np.ndarray | None, ...]],
) -> SharedSites:
    """Join the scores of the same variants; `effects_by_file` has what copies add, for each file."""
    joined = []
    for values in zip(*effects_by_file, strict=True):
        if all(array is None for array in values):
            joined.append(None)
            continue
        shapes = [first.shape for _, first, _ in effects_by_file]
        arrays = [
            np.zeros(shape) if array is None else array for array, shape in zip(values, shapes, strict=True)
        ]
        joined.append(np.concatenate(arrays, axis=1))
        joined[-1][sites.problem == REPEATED] = 0
    none, first, second = joined
    return SharedSites(members, rows, first, none, second, columns["types"])


def files_of_scores(paths: Sequence[Path | str]) -> list[Path]:
    """Return the files that scores are read from, with what a bundle says of them, by the names of files
    only."""
    paths = [Path(path) for path in paths]
    tables = [table for path in paths for table in _tables_of(path)]
    return [outcome.path for path in paths for outcome in _outcomes_of(path)] + tables


def _tables_of(path: Path) -> list[Path]:
    """Return a bundle's files that describe its scores; a path that is no bundle has none."""
    return [path / name for name in (STATEMENT, SCALES, COVARIATES) if (path / name).is_file()]


def require_readable(outcomes: Sequence[Outcome], *, build: str | None) -> None:
    """Raise the DpgrsError that `read_scores`, of the same arguments, would raise by heads of files."""
    for outcome in outcomes:
        _open(outcome, build)


def score_builds(outcomes: Sequence[Outcome]) -> set[str] | None:
    """Return the builds in which all scores can be read; None if none says any."""
    stated = [set(outcome.head.builds) for outcome in outcomes if outcome.head.builds]
    return set.intersection(*stated) if stated else None


def _outcomes_of(path: Path) -> list[Outcome]:
    """Return the scores of a bundle, of a folder of scoring files, or of one file."""
    if not path.is_dir():
        return _outcomes_in(path)
    if not (path / STATEMENT).is_file():
        files = sorted(entry for entry in path.iterdir() if entry.name.endswith((".txt", ".txt.gz")))
        if not files:
            raise DpgrsError(
                "no-scores-in-folder",
                f"`{path}` must be the bundle of a release, or a folder of scoring files, got one without "
                f"{STATEMENT} and without .txt.gz. Name the folder `release` of a study, or a file.",
            )
        return [outcome for entry in files for outcome in _outcomes_in(entry)]
    try:
        scores = json.loads((path / STATEMENT).read_text(encoding="utf-8"))["scores"]
        files_by_name = {entry["outcome"]: path / entry["file"] for entry in scores}
    except (OSError, ValueError, KeyError, TypeError):
        raise DpgrsError(
            "not-a-statement",
            f"`{path / STATEMENT}` must be the statement of a release, which lists its scores, got another "
            "file. Check the bundle: dpgrs release verify",
        ) from None
    scales = read_scales(path / SCALES) if (path / SCALES).is_file() else None
    binary = set() if scales is None else _binary_outcomes(path / SCALES)
    has_covariates, bundle_outcomes = (path / COVARIATES).is_file(), []
    for name, file in files_by_name.items():
        units = {}
        if scales is not None and name in scales.index:
            units = {"centre": scales["centre"][name], "scale": scales["scale"][name], "has_unit": True}
            units["is_binary"] = name in binary
        bundle_outcomes.append(Outcome(name, file, has_covariates=has_covariates, **units))
    return bundle_outcomes


def _binary_outcomes(path: Path) -> set[str]:
    """Return the names of the 0/1 outcomes in a bundle's table of constants."""
    rows = rows_of(path)
    header = header_of(rows, path)
    if "is_binary" not in header:
        return set()
    name, kind = header.index("outcome"), header.index("is_binary")
    return {cells[name] for _, cells in rows if cells[kind] == "True"}


def _outcomes_in(path: Path) -> list[Outcome]:
    """Return the scores of a single file, named by its id in the Catalog, by the file, or by columns."""
    head = head_of(path)
    name = head.remarks.get("pgs_id", "")
    if name.lower() in NOT_STATED:
        name = path.name.removesuffix(".gz").rpartition(".")[0] or path.name
    return [
        Outcome(column or name, path, head=head, column=column) for column in head.weight_columns or ("",)
    ]


def _open(outcome: Outcome, build: str | None) -> EffectsFile:
    file = open_effects(outcome.path, build=build, head=outcome.head, several=True)
    if file.is_marginal:
        got = "odds or hazard ratios" if "beta" not in file.columns else "effects of one variant at a time"
        raise DpgrsError(
            "weight-column-missing",
            f"`{outcome.path}` must name a column effect_weight, weights that go together, got {got}. Make a "
            "score of the effects of a GWAS first (LDpred2, PRS-CS). If ratios are of a score, write their "
            "natural logarithms as effect_weight.",
        )
    return file


def _read(
    outcomes: list[Outcome], build: str | None
) -> tuple[dict[str, Any], tuple[np.ndarray | None, ...], list[Outcome]]:
    """Return the columns of a file, what copies add in its scores, and these with their constants.

    What copies add are the three arrays of `dpgrs.io.effect_types.copy_effects`.
    """
    path = outcomes[0].path
    file = _open(outcomes[0], build)
    blocks = list(file.row_blocks())
    if not sum(len(block.position) for block in blocks):
        raise DpgrsError(
            "score-without-variants",
            f"`{path}` must hold a variant, got only the names of columns. Fetch it again.",
        )
    if len(accessions := frozenset().union(*(block.accessions for block in blocks))) > 1:
        raise DpgrsError(
            "several-scores-in-file",
            f"`{path}` must hold one score, got {len(accessions)} in the column `accession`. Write each "
            "score to its own file.",
        )
    columns = {name: np.concatenate([getattr(block, name) for block in blocks]) for name in COLUMNS}
    columns["id"] = None if blocks[0].id is None else np.concatenate([block.id for block in blocks])
    frequency = columns["frequency"]
    if len(bad := np.flatnonzero((frequency < 0) | (frequency > 1))):
        raise DpgrsError(
            "allele-frequency-out-of-range",
            f"`{path}`, row {bad[0] + 1}: the frequency of an allele must be from 0 to 1, got another. "
            "Correct the column, or remove it.",
        )
    # What a haplotype adds on average does not follow from the frequency of an allele.
    frequency[~np.isin(columns["types"].astype(str), APPLIED)] = np.nan
    types, effects, dosage_weights = (
        None
        if getattr(blocks[0], name) is None
        else np.concatenate([getattr(block, name) for block in blocks])
        for name in ("types", "effects", "dosage_weights")
    )
    score_numbers = [file.scores.index(outcome.column) for outcome in outcomes]
    effects = copy_effects(types, effects[:, score_numbers], dosage_weights)
    constant = _constant_of(path, file.remarks, len(file.scores))
    remarks = {"constant": constant, "source": file.remarks.get(SOURCE, "")}
    return columns, effects, [replace(outcome, **remarks) for outcome in outcomes]


def _require_weights(outcomes: list[Outcome], effects: Sequence[np.ndarray | None], sites: Sites) -> None:
    """Refuse a variant without a weight, unless it cannot be used; its weight is then 0."""
    is_unknown = np.any([np.isnan(values) for values in effects if values is not None], axis=0)
    bad, of_score = np.nonzero(is_unknown & (sites.problem == "")[:, np.newaxis])
    if len(bad):
        names, column = outcomes[0].head.names, outcomes[of_score[0]].column
        index = outcomes[0].head.weight_columns.get(column)
        name = "effect_weight" if index is None else names[index]
        raise DpgrsError(
            "weight-not-finite",
            f"`{outcomes[0].path}`, row {bad[0] + 1}: {name} must be a finite number, got another. Correct "
            "the cell, or remove the row.",
        )
    for values in effects:
        if values is not None:
            values[is_unknown] = 0


def _constant_of(path: Path, remarks: dict[str, str], n_scores: int) -> float:
    """Return the constant that a file states, NaN if it states none."""
    text = remarks.get("constant", "")
    constant = number_of(text)
    if math.isnan(constant) and text.lower() not in NOT_STATED:
        raise DpgrsError(
            "constant-not-finite",
            f"`{path}`: `#constant=` must be a finite number, got {shown(text)}. Correct it.",
        )
    if n_scores > 1 and not math.isnan(constant):
        raise DpgrsError(
            "constant-of-several-scores",
            f"`{path}`: `#constant=` must be of one score, got {n_scores} columns of weights. Leave it out, "
            "or write each score to its own file.",
        )
    return constant


def _checked(path: Path, columns: dict[str, Any], build: str | None, duplicates: str) -> Sites:
    """Return the variants of a score, once for all scores with the same variants."""
    sites = Sites(*(columns[name] for name in COLUMNS[:-1]), problem=site_problems(columns))
    settle_duplicates(path, sites, duplicates=duplicates)
    if columns["id"] is not None:
        require_build(path, build, [known_rows(columns["contig"], columns["position"], columns["id"])])
    return sites


def _are_same(columns: dict[str, Any], other_columns: dict[str, Any]) -> bool:
    """Return whether two scores have the same variants in the same order."""
    return len(columns["position"]) == len(other_columns["position"]) and all(
        np.array_equal(columns[name], other_columns[name], equal_nan=name == "frequency") for name in COLUMNS
    )
