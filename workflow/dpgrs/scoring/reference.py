"""A public reference for scores: the same variants scored there, and its principal components."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.allele_matching import is_ambiguous
from dpgrs.io.genome_builds import is_autosome
from dpgrs.io.variant_set_writer import site_names, thinning_rank
from dpgrs.linalg.principal_components import reference_loadings
from dpgrs.scoring._kernels import count_calls, fill_calls
from dpgrs.scoring.matching import Found, Matching
from dpgrs.scoring.score_files import Outcome, SharedSites
from dpgrs.scoring.sites import Sites
from dpgrs.scoring.sums import ScoreSums
from dpgrs.types import Rows

if TYPE_CHECKING:
    from dpgrs.io.target import Piece, Target

NOT_THERE = "not in the reference"
# Of variants that components are found from: common, called, and few enough that most are far apart.
LEAST_FREQUENCY, LEAST_CALLED = 0.05, 0.98
MOST_CANDIDATES, MOST_VARIANTS, FEWEST_VARIANTS = 20_000, 2_000, 50
SEED = 1
_LETTERS = frozenset("ACGT")


@dataclass
class Reference:
    """A reference, read for the first time."""

    target: "Target"
    matching: Matching  # of the scores' variants in it
    # Variants for components, in the order of their thinning; frequencies of ALT, the effect allele.
    candidates: Sites


def read_reference(target: "Target", sites: Sites, *, keeps_ambiguous: bool) -> Reference:
    """Match the variants of scores in a reference, and collect variants that components may be computed from.

    Frequencies of the reference are written into `sites` if none is known there; `keeps_ambiguous` is as for
    `Matching`.
    """
    matching, tables = Matching(sites, keeps_ambiguous=keeps_ambiguous), []
    for piece in target.pieces(target.autosomes | set(sites.contigs)):
        pairs, columns = matching.match(piece.columns), piece.columns
        usable = np.flatnonzero(_are_plain(columns))
        rows = np.union1d(pairs.row, usable)
        n_known, copies = (np.zeros(len(columns["position"]), dtype=np.int64) for _ in range(2))
        for batch in np.array_split(rows, max(len(rows) // 1024, 1)):
            if len(batch):
                counts = [np.empty(len(batch), dtype=np.int64) for _ in range(2)]
                count_calls(piece.calls(batch), *counts)
                n_known[batch], copies[batch] = counts
        frequency = np.divide(copies, n_known, out=np.full(len(n_known), np.nan), where=n_known > 0)
        _take_frequencies(sites, pairs, frequency)
        is_common = np.minimum(frequency[usable], 1 - frequency[usable]) >= LEAST_FREQUENCY
        usable = usable[is_common & (n_known[usable] >= LEAST_CALLED * 2 * len(target.samples))]
        table = {name: columns[name][usable] for name in ("contig", "position", "ref", "alt")}
        tables.append(pd.DataFrame(table | {"frequency": frequency[usable]}))
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame({"contig": []})
    if len(table) < FEWEST_VARIANTS:
        raise DpgrsError(
            "too-few-reference-variants",
            f"`--reference` must hold at least {FEWEST_VARIANTS} common variants of two letters, got "
            f"{len(table)}. Take a panel of whole chromosomes.",
        )
    order = np.argsort(thinning_rank(site_names(table), seed=SEED), kind="stable")[:MOST_CANDIDATES]
    table = table.iloc[order]
    names = {"effect_allele": "alt", "other_allele": "ref"}
    texts = {name: table[name].to_numpy(dtype=object) for name in ("contig", "ref", "alt")}
    return Reference(
        target,
        matching,
        Sites(
            contig=texts["contig"],
            position=table["position"].to_numpy(dtype=np.int64),
            frequency=table["frequency"].to_numpy(dtype=float),
            problem=np.full(len(table), "", dtype=object),
            **{name: texts[column] for name, column in names.items()},
        ),
    )


def with_candidates(sites: Sites, reference: Reference) -> Sites:
    """Return the variants to match in the target: first the scores' variants in the reference, then the
    candidates."""
    problem = np.where(reference.matching.is_used | (sites.problem != ""), sites.problem, NOT_THERE)
    return _joined(replace(sites, problem=problem.astype(object)), reference.candidates)


def found_components(candidates: Sites, is_found: np.ndarray) -> np.ndarray:
    """Return the candidates that components are computed from, (n_used,) int64: the first that the target
    has."""
    component_rows = np.flatnonzero(is_found)[:MOST_VARIANTS]
    if len(component_rows) < FEWEST_VARIANTS:
        raise DpgrsError(
            "too-few-shared-variants",
            f"The target must hold at least {FEWEST_VARIANTS} of the {len(candidates)} common variants of "
            f"`--reference`, got {len(component_rows)}. Take a panel of the same chromosomes and genome "
            "build.",
        )
    return component_rows


def score_reference(
    reference: Reference,
    sites: Sites,
    shared: Sequence[SharedSites],
    candidate_rows: np.ndarray,
    *,
    n_components: int,
    threads: int,
) -> tuple[np.ndarray, np.ndarray, SharedSites, np.ndarray]:
    """Score the reference by variants that the target has, and compute its components.

    The sites are from `with_candidates`; those that are not in the target have a problem. `candidate_rows`
    are (n_used,) int64 rows of the candidates. Return sums, (n_outcomes, n_reference), components,
    (n_components, n_reference), their projection, as scores of the target, and (n_components,) shifts to add
    to these, float64 all.
    """
    people, component_sites = reference.target, _select_rows(reference.candidates, candidate_rows)
    dosages = np.empty((len(candidate_rows), len(people.samples)))
    matching = Matching(sites)
    sums = ScoreSums(matching, shared, n_people=len(people.samples), n_threads=threads)
    contigs = set(sites.contigs) | set(component_sites.contigs)
    sums.add_all(_noting(people.pieces(contigs), Matching(component_sites), dosages))
    X = np.ascontiguousarray(dosages.T) - 1
    loadings = reference_loadings(
        X, component_sites.frequency, n_components=n_components, rows=Rows.PEOPLE, key="--components"
    )
    shift = -2 * loadings @ component_sites.frequency
    n_before = len(sites) - len(reference.candidates)
    outcomes = [Outcome(f"PC{number}", people.paths[0]) for number in range(1, n_components + 1)]
    projection = SharedSites(outcomes, n_before + candidate_rows, np.ascontiguousarray(loadings.T))
    return sums.sums, loadings @ dosages + shift[:, np.newaxis], projection, shift


def _noting(pieces: "Iterable[Piece]", matching: Matching, dosages: np.ndarray) -> "Iterator[Piece]":
    """Pass pieces on, and write the dosages of variants, missing ones by their frequency, into `dosages`."""
    for piece in pieces:
        pairs = matching.match(piece.columns)
        if len(pairs.row):
            rows, index = np.unique(pairs.row, return_inverse=True)
            row_dosages = np.empty((len(rows), dosages.shape[1]))
            frequency = np.empty(len(rows))
            frequency[index] = matching.sites.frequency[pairs.variant]
            fill_calls(piece.calls(rows), frequency, 0, row_dosages)
            dosages[pairs.variant] = row_dosages[index]
        yield piece


def _are_plain(columns: dict[str, Any]) -> np.ndarray:
    """Return which rows are single at their position, of two letters that strands tell apart, on an
    autosome."""
    n = len(columns["position"])
    is_new = (columns["contig"][1:] != columns["contig"][:-1]) | (
        columns["position"][1:] != columns["position"][:-1]
    )
    is_alone = np.append(True, is_new) & np.append(is_new, True) if n else np.zeros(0, dtype=bool)
    pairs = list(zip(columns["ref"], columns["alt"], strict=True))
    plain = {pair: {*pair} <= _LETTERS and not is_ambiguous(*pair) for pair in set(pairs)}
    on_autosome = {contig: is_autosome(contig) for contig in set(columns["contig"])}
    return (
        is_alone
        & np.array([plain[pair] for pair in pairs], dtype=bool)
        & np.array([on_autosome[contig] for contig in columns["contig"]], dtype=bool)
    )


def _take_frequencies(sites: Sites, matches: Found, frequency: np.ndarray) -> None:
    """Write frequencies of effect alleles into `sites` where none is known, of variants with exactly one
    row."""
    _, index, times = np.unique(matches.variant, return_inverse=True, return_counts=True)
    is_new = (times[index] == 1) & np.isnan(sites.frequency[matches.variant])
    of_alt = frequency[matches.row[is_new]]
    sites.frequency[matches.variant[is_new]] = np.where(matches.sign[is_new] > 0, of_alt, 1 - of_alt)


def _select_rows(sites: Sites, rows: np.ndarray) -> Sites:
    return Sites(**{name: getattr(sites, name)[rows] for name in Sites.__dataclass_fields__})


def _joined(first: Sites, second: Sites) -> Sites:
    names = Sites.__dataclass_fields__
    return Sites(**{name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in names})
