"""A public reference for scores: the same variants scored there, and its principal components."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.allele_matching import is_ambiguous
from dpgrs.io.genome_builds import is_autosome
from dpgrs.io.variant_set import site_names, thinning_rank
from dpgrs.linalg.principal_components import reference_loadings
from dpgrs.scoring._kernels import count_calls, fill_calls
from dpgrs.scoring.matching import Matching
from dpgrs.scoring.score_files import Outcome, SharedSites
from dpgrs.scoring.sites import Sites
from dpgrs.scoring.sums import ScoreSums
from dpgrs.types import Rows

NOT_THERE = "not in the reference"
# Of variants that components are found from: common, called, and few enough that most are far apart.
LEAST_FREQUENCY, LEAST_CALLED = 0.05, 0.98
MOST_CANDIDATES, MOST_VARIANTS, FEWEST_VARIANTS = 20_000, 2_000, 50
SEED = 1
_LETTERS = frozenset("ACGT")


@dataclass
class Reference:
    """A reference, read for the first time.

    Attributes
    ----------
    target : dpgrs.io.target.Target
    matching : Matching, of the scores' variants in it.
    candidates : Sites, of which components may be found, in the order of their thinning; frequencies are
        those of ALT, which is the effect allele.
    """

    target: object
    matching: Matching
    candidates: Sites


def read_reference(target, sites, *, keeps_ambiguous):
    """Look for the variants of scores in a reference, and for variants that components may be found from.

    Frequencies of the reference are noted in `sites` where none is told.

    Parameters
    ----------
    target : Target, the reference.
    sites : Sites, of the scores.
    keeps_ambiguous : bool, see `Matching`.

    Returns
    -------
    Reference
    """
    matching, tables = Matching(sites, keeps_ambiguous=keeps_ambiguous), []
    for piece in target.pieces(target.autosomes | set(sites.contigs)):
        found, columns = matching.match(piece.columns), piece.columns
        usable = np.flatnonzero(_are_plain(columns))
        rows = np.union1d(found.row, usable)
        known, copies = (np.zeros(len(columns["position"]), dtype=np.int64) for _ in range(2))
        for part in np.array_split(rows, max(len(rows) // 1024, 1)):
            if len(part):
                own = [np.empty(len(part), dtype=np.int64) for _ in range(2)]
                count_calls(piece.calls(part), *own)
                known[part], copies[part] = own
        frequency = np.divide(copies, known, out=np.full(len(known), np.nan), where=known > 0)
        _take_frequencies(sites, found, frequency)
        is_common = np.minimum(frequency[usable], 1 - frequency[usable]) >= LEAST_FREQUENCY
        usable = usable[is_common & (known[usable] >= LEAST_CALLED * 2 * len(target.samples))]
        table = {name: columns[name][usable] for name in ("contig", "position", "ref", "alt")}
        tables.append(pd.DataFrame(table | {"frequency": frequency[usable]}))
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame({"contig": []})
    if len(table) < FEWEST_VARIANTS:
        raise DpgrsError(
            f"`--reference` must hold at least {FEWEST_VARIANTS} common variants of two letters, got "
            f"{len(table)}. Take a panel of whole chromosomes."
        )
    order = np.argsort(thinning_rank(site_names(table), seed=SEED), kind="stable")[:MOST_CANDIDATES]
    table = table.iloc[order]
    names = {"effect_allele": "alt", "other_allele": "ref"}
    own = {name: table[name].to_numpy(dtype=object) for name in ("contig", "ref", "alt")}
    return Reference(
        target,
        matching,
        Sites(
            contig=own["contig"],
            position=table["position"].to_numpy(dtype=np.int64),
            frequency=table["frequency"].to_numpy(dtype=float),
            problem=np.full(len(table), "", dtype=object),
            **{name: own[column] for name, column in names.items()},
        ),
    )


def with_candidates(sites, reference):
    """Return the variants to look for in the target: those of the scores that the reference has, and more.

    Returns
    -------
    Sites; the candidates follow the variants of the scores.
    """
    problem = np.where(reference.matching.is_used | (sites.problem != ""), sites.problem, NOT_THERE)
    return _joined(replace(sites, problem=problem.astype(object)), reference.candidates)


def found_components(candidates, is_found):
    """Return which candidates components are found from, (n_used,) int64: the first that the target has."""
    taken = np.flatnonzero(is_found)[:MOST_VARIANTS]
    if len(taken) < FEWEST_VARIANTS:
        raise DpgrsError(
            f"The target must hold at least {FEWEST_VARIANTS} of the {len(candidates)} common variants of "
            f"`--reference`, got {len(taken)}. Take a panel of the same chromosomes and genome build."
        )
    return taken


def score_reference(reference, sites, shared, taken, *, n_components, threads):
    """Score the reference by variants that the target has, and find its components.

    Parameters
    ----------
    reference : Reference
    sites : Sites, from `with_candidates`, of which those that are not in the target have a problem.
    shared : list of SharedSites
    taken : (n_used,) int64, rows of the candidates.
    n_components : int
    threads : int

    Returns
    -------
    sums : (n_outcomes, n_reference) float64
    components : (n_components, n_reference) float64
    projection : SharedSites, scores of the target that are its components, but for `shift`.
    shift : (n_components,) float64, to add.
    """
    people, own = reference.target, _taken(reference.candidates, taken)
    dosages = np.empty((len(taken), len(people.samples)))
    matching = Matching(sites)
    sums = ScoreSums(matching, shared, n_people=len(people.samples), n_threads=threads)
    contigs = set(sites.contigs) | set(own.contigs)
    sums.add_all(_noting(people.pieces(contigs), Matching(own), dosages))
    X = np.ascontiguousarray(dosages.T) - 1
    loadings = reference_loadings(
        X, own.frequency, n_components=n_components, rows=Rows.PEOPLE, key="--components"
    )
    shift = -2 * loadings @ own.frequency
    n_before = len(sites) - len(reference.candidates)
    outcomes = [Outcome(f"PC{number}", people.paths[0]) for number in range(1, n_components + 1)]
    projection = SharedSites(outcomes, n_before + taken, np.ascontiguousarray(loadings.T))
    return sums.sums, loadings @ dosages + shift[:, np.newaxis], projection, shift


def _noting(pieces, matching, dosages):
    """Pass pieces on, and note the dosages of variants, missing ones by their frequency."""
    for piece in pieces:
        found = matching.match(piece.columns)
        if len(found.row):
            rows, place = np.unique(found.row, return_inverse=True)
            own = np.empty((len(rows), dosages.shape[1]))
            frequency = np.empty(len(rows))
            frequency[place] = matching.sites.frequency[found.variant]
            fill_calls(piece.calls(rows), frequency, 0, own)
            dosages[found.variant] = own[place]
        yield piece


def _are_plain(columns):
    """Tell which rows are alone at their place, of two letters that strands tell apart, on an autosome."""
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


def _take_frequencies(sites, found, frequency):
    """Note frequencies of effect alleles where none is told, of variants that are one row each."""
    _, place, times = np.unique(found.variant, return_inverse=True, return_counts=True)
    is_new = (times[place] == 1) & np.isnan(sites.frequency[found.variant])
    own = frequency[found.row[is_new]]
    sites.frequency[found.variant[is_new]] = np.where(found.sign[is_new] > 0, own, 1 - own)


def _taken(sites, rows):
    return Sites(**{name: getattr(sites, name)[rows] for name in Sites.__dataclass_fields__})


def _joined(one, other):
    names = Sites.__dataclass_fields__
    return Sites(**{name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in names})
