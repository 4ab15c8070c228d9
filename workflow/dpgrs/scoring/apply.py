"""A target scored: sums, averages and predictions of all people, and the report of the match."""

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.allele_matching import Places, match_pairs
from dpgrs.io.chromosomes import chromosome_name
from dpgrs.io.genome_builds import LENGTHS, BuildCheck, declared_builds
from dpgrs.io.sites import read_sites
from dpgrs.io.target import Target
from dpgrs.scoring.ancestry import Adjusted, adjust_scores
from dpgrs.scoring.matching import USED, Matching
from dpgrs.scoring.reference import (
    found_components,
    read_reference,
    score_reference,
    with_candidates,
)
from dpgrs.scoring.score_files import list_scores, read_scores, score_builds
from dpgrs.scoring.sites import DUPLICATES, REPEATED
from dpgrs.scoring.sums import ScoreSums, expected_sums

BUILD = "--genome-build"
LEAST_MATCHED = 0.75
_MOST_REASONS = 4
_MOST_NAMED = 3


class Scored(NamedTuple):
    """The people of a reference.

    Attributes
    ----------
    samples : tuple of str
    sums : (n_outcomes, n_reference) float64, by the same variants as those of the target.
    components : (n_components, n_reference) float64
    adjusted : Adjusted
    """

    samples: tuple
    sums: np.ndarray
    components: np.ndarray
    adjusted: Adjusted


@dataclass
class Applied:
    """Scores of people.

    Attributes
    ----------
    samples : tuple of n_people str
    build : str or None, of the target, as far as known.
    shared : list of SharedSites, in whose order the outcomes are.
    matching : Matching
    sums : (n_outcomes, n_people) float64; None where variants were looked for alone, as the next two.
    predictions : (n_outcomes, n_people) float64, in the outcome's unit; NaN without a constant.
    n_unknown : (n_outcomes,) int64, variants that are not in the sum and have no public frequency, for which
        nothing is in the prediction.
    components : (n_components, n_people) float64, projections on the components of the reference; None
        without one, as the next two.
    adjusted : dpgrs.scoring.ancestry.Adjusted
    reference : Scored, the reference itself.
    counts : dict of int: records read, haploid calls, missing alleles filled, and variants filled by the
        target's own frequency.
    """

    samples: tuple
    build: str | None
    shared: list
    matching: Matching
    sums: np.ndarray | None = None
    predictions: np.ndarray | None = None
    n_unknown: np.ndarray | None = None
    components: np.ndarray | None = None
    adjusted: Adjusted | None = None
    reference: Scored | None = None
    counts: dict = field(default_factory=dict)

    @property
    def outcomes(self):
        """List of Outcome, in the order of the rows."""
        return [outcome for one in self.shared for outcome in one.outcomes]

    @property
    def n_variants(self):
        """(n_outcomes,) int64, variants of each score, each counted once if repeats are left out."""
        is_own = self.matching.status != REPEATED
        return np.concatenate([np.full(len(one.outcomes), is_own[one.rows].sum()) for one in self.shared])

    @property
    def n_used(self):
        """(n_outcomes,) int64, variants of each score that are in its sum."""
        is_used = self.matching.is_used
        return np.concatenate([np.full(len(one.outcomes), is_used[one.rows].sum()) for one in self.shared])

    @property
    def averages(self):
        """(n_outcomes, n_people) float64, the sum by allele of the variants in it, as plink2 has it."""
        return self.sums / np.maximum(2 * self.n_used, 1)[:, np.newaxis]

    def shown(self):
        """Return what a page shows of people.

        Returns
        -------
        values : (n_outcomes, n_people) float64, predictions where there are any, else ``Z_norm1`` beside a
            reference, which is NaN of scores that do not vary there, else sums.
        units : list of n_outcomes str
        limits : (n_outcomes, 2) float64, between which values can lie: 0 and 1 of shares of cases.
        spreads : (n_outcomes,) float64, standard deviation of the outcome itself; NaN where it is not known.
        """
        is_told = [not math.isnan(outcome.constant) for outcome in self.outcomes]
        others = self.sums if self.adjusted is None else self.adjusted.mean
        named = "raw sum" if self.adjusted is None else "Z_norm1"
        values = np.where(np.array(is_told)[:, np.newaxis], self.predictions, others)
        unit = {True: "outcome's own unit", False: "standard deviations of the outcome"}
        units = [
            unit[outcome.has_unit] if told else named
            for outcome, told in zip(self.outcomes, is_told, strict=True)
        ]
        limits = [
            (0.0, 1.0) if told and outcome.is_binary else (-math.inf, math.inf)
            for outcome, told in zip(self.outcomes, is_told, strict=True)
        ]
        scales = np.array([outcome.scale for outcome in self.outcomes])
        return values, units, np.array(limits), np.where(is_told, scales, math.nan)

    def take_sums(self, raw, sums):
        """Make predictions of raw sums, (n_outcomes, n_people), and note what was filled in `sums`."""
        frequency, is_used = self.matching.sites.frequency, self.matching.is_used
        shift, self.n_unknown = expected_sums(self.shared, frequency, is_used)
        constant, centre, scale = (
            np.array([getattr(outcome, name) for outcome in self.outcomes])[:, np.newaxis]
            for name in ("constant", "centre", "scale")
        )
        self.sums = raw
        self.predictions = centre + scale * (constant + raw + shift[:, np.newaxis])
        self.counts |= {
            "alleles_filled": sums.n_missing,
            "variants_filled_by_own_frequency": int(sums.own_frequency.sum()),
        }


def apply_scores(
    target,
    scores,
    *,
    genome_build=None,
    frequencies=None,
    field="GT",
    min_matched=LEAST_MATCHED,
    keeps_ambiguous=True,
    only_match=False,
    reference=None,
    components=4,
    duplicates="refuse",
    threads=2,
):
    """Score the people of genotype files.

    Parameters
    ----------
    target : list of paths, see `dpgrs.io.target.Target`.
    scores : list of paths, see `dpgrs.scoring.score_files.list_scores`.
    genome_build : ``GRCh37`` or ``GRCh38``, of the target; None where only files may tell.
    frequencies : path of a table of public sites with the frequency of ALT, or None.
    field : ``GT``, calls, or ``DS``, dosages.
    min_matched : float, the least share of a score's variants that must be in its sum.
    keeps_ambiguous : bool, whether A/T and C/G are taken as given.
    only_match : bool, whether to look for the variants alone; then nothing is refused for too few of them.
    reference : list of paths of a public panel, as `target`, or None. Then only variants that it has are
        used, its frequencies fill missing calls where no others are told, and scores are put beside its own.
    components : int, principal components of the reference by which scores are adjusted.
    duplicates : ``refuse``, or what counts of a variant that a score lists again: ``first`` or ``sum``.
    threads : int; they change no result.

    Returns
    -------
    Applied

    Raises
    ------
    DpgrsError
        Anything wrong with a file, another genome build, or too few variants matched.

    Examples
    --------
    >>> import dpgrs
    >>> applied = dpgrs.apply_scores(["target.vcf"], ["scores.txt"])
    >>> applied.samples[:2], applied.sums.shape, applied.n_variants.tolist()
    (('p0', 'p1'), (1, 6), [8])
    """
    if duplicates not in DUPLICATES:
        raise UsageError(f"`duplicates` must be {', '.join(DUPLICATES)}, got {duplicates}. Correct it.")
    terms = {"genome_build": genome_build, "field": field, "reference": reference}
    listed = list_scores(scores)
    people, there, build = open_people(target, score_builds(listed), **terms)
    sites, shared = read_scores(listed, build=build, duplicates=duplicates)
    if frequencies is not None:
        _take_frequencies(sites, frequencies)
    known = None
    if there is not None:
        known = read_reference(there, sites, keeps_ambiguous=keeps_ambiguous)
        sites = with_candidates(sites, known)
    applied = Applied(people.samples, build, shared, Matching(sites, keeps_ambiguous=keeps_ambiguous))
    if only_match or known:
        for piece in _pieces(people, sites, build):
            applied.matching.match(piece.columns)
    if not only_match:
        options = {"n_components": components, "threads": threads, "least": min_matched}
        _score(applied, people, known, **options)
    applied.counts |= {"records": people.n_records, "haploid_calls": people.n_haploid}
    if field == "DS":
        applied.counts["calls_as_dosages"] = people.n_calls_as_dosages
    if people.n_alts_left_out:
        applied.counts["alts_left_out_of_stores"] = people.n_alts_left_out
    return applied


def open_people(target, builds, *, genome_build=None, field="GT", reference=None):
    """Open a target and its reference, as far as headers tell of them.

    Parameters
    ----------
    target, genome_build, field, reference : see `apply_scores`.
    builds : set of str, in which all scores can be read; None where none says any.

    Returns
    -------
    people : Target
    there : Target, the reference, or None.
    build : ``GRCh37``, ``GRCh38`` or None, of all of them, as far as known.

    Raises
    ------
    DpgrsError
        A damaged header, other people in a file, or another genome build.
    """
    people = Target(target, field=field)
    build = _agreed_build(people, builds, genome_build)
    if reference is None:
        return people, None, build
    there = Target(reference)
    _require_same_build(there, build)
    return people, there, build


def _score(applied, people, known, *, n_components, threads, least):
    """Add up all scores, those of a reference first, if there is one."""
    sites, shared, projections = applied.matching.sites, applied.shared, []
    if known:
        _require_matched(applied, least, n_records=people.n_records)
        is_used = applied.matching.is_used
        taken = found_components(known.candidates, is_used[len(sites) - len(known.candidates) :])
        problem = np.where(is_used, sites.problem, applied.matching.status).astype(object)
        own = replace(sites, problem=problem)
        options = {"n_components": n_components, "threads": threads}
        found = score_reference(known, own, shared, taken, **options)
        sums_there, components_there, projection, shift = found
        projections = [projection]
        people.begin()
        keeps_ambiguous = applied.matching.keeps_ambiguous
        applied.matching = Matching(sites, keeps_ambiguous=keeps_ambiguous)
    n_people = len(people.samples)
    sums = ScoreSums(applied.matching, shared + projections, n_people=n_people, n_threads=threads)
    sums.add_all(_pieces(people, sites, applied.build))
    _require_matched(applied, least, n_records=people.n_records)
    n_outcomes = len(applied.outcomes)
    applied.take_sums(sums.sums[:n_outcomes], sums)
    if known:
        components = sums.sums[n_outcomes:] + shift[:, np.newaxis]
        there = {"reference_scores": sums_there, "reference_components": components_there}
        applied.components, applied.reference = (
            components,
            Scored(
                known.target.samples,
                sums_there,
                components_there,
                adjust_scores(sums_there, components_there, **there),
            ),
        )
        applied.adjusted = adjust_scores(applied.sums, components, **there)
        applied.counts |= {"reference_people": len(known.target.samples), "component_variants": len(taken)}


def _pieces(people, sites, build):
    """Return the pieces of a target with the variants of scores, held against a genome build."""
    pieces = people.pieces(sites.contigs)
    return pieces if build is None else _of_build(pieces, build)


def _agreed_build(people, told, stated):
    """Return the build of positions of target and scores, or None where nobody says it."""
    if stated is not None and stated not in LENGTHS:
        raise UsageError(f"`{BUILD}` must be {' or '.join(LENGTHS)}, got {stated}. Correct it.")
    declared = _declared(people)
    if stated and declared and stated not in declared:
        one = next(iter(declared.values()))
        raise UsageError(
            f"`{BUILD}` must be {one.build}, by the length of chromosome {one.chromosome} in `{one.path}`, "
            f"got {stated}. Correct it, or lift the positions over."
        )
    build = stated or next(iter(declared), None)
    if told is None or build in told:
        return build
    if build is None and len(told) == 1:
        return next(iter(told))
    if build is None:
        # Harmonised files have two.
        raise UsageError(
            f"`{BUILD}` must say the build of the target, as neither its header nor the scores do, got "
            f"{' or '.join(sorted(told)) or 'scores of different builds'}. Give it."
        )
    # The file that differs is named by who opens it.
    return build


def _declared(people):
    """Return what headers say of the build, a dict of builds to `DeclaredBuild`."""
    headers = dict.fromkeys(people.header.contigs, people.header)
    return {one.build: one for one in declared_builds(headers)}


def _require_same_build(reference, build):
    """Refuse a reference whose header tells another build than that of the target."""
    declared = _declared(reference)
    if build and declared and build not in declared:
        one = next(iter(declared.values()))
        raise UsageError(
            f"`--reference` must be of the target's genome build, {build}, got {one.build}, by the length of "
            f"chromosome {one.chromosome} in `{one.path}`. Take a panel of that build."
        )


def _of_build(pieces, build):
    """Pass pieces on, and refuse a file with positions of another build."""
    checks = {}
    for piece in pieces:
        check = checks.setdefault(piece.path, BuildCheck(piece.path, build, key=BUILD))
        check.add(piece.columns)
        yield piece
    for check in checks.values():
        check.finish()


def _take_frequencies(sites, path):
    """Take public frequencies of effect alleles from a table of sites, where it has them."""
    table = read_sites(path)
    contigs = table["contig"].astype(str).map(chromosome_name).to_numpy(dtype=object)
    refs, alts = (table[name].str.upper().to_numpy(dtype=object) for name in ("ref", "alt"))
    sought, site = Places(contigs, table["position"].to_numpy(dtype=np.int64)).pairs(
        sites.contig, sites.position
    )
    sign, is_flipped = match_pairs(
        sites.effect_allele[sought], sites.other_allele[sought], refs[site], alts[site]
    )
    frequency = table["frequency"].to_numpy(dtype=float)[site]
    for taken in (is_flipped, ~is_flipped):
        own = np.flatnonzero(taken & (sign != 0))
        sites.frequency[sought[own]] = np.where(sign[own] > 0, frequency[own], 1 - frequency[own])


def _require_matched(applied, least, *, n_records):
    """Refuse scores of which too few variants are in the sums."""
    n_used, n_variants, shared = applied.n_used, applied.n_variants, applied.shared
    few = np.flatnonzero((n_used < least * n_variants) | (n_used == 0))
    if not len(few):
        return
    worst = few[np.argmin((n_used / n_variants)[few])]
    ends = np.cumsum([len(one.outcomes) for one in shared])
    status = applied.matching.status[shared[np.searchsorted(ends, worst, side="right")].rows]
    reasons = describe_statuses([one for one in status if one not in USED])
    others = f", and too few of {len(few) - 1} more score{'s' * (len(few) > 2)}" if len(few) > 1 else ""
    share = n_used[worst] / n_variants[worst]
    if n_records:
        fix = "Take the score of the target's genome build, or a target with more variants"
    else:
        fix = "The target has nothing on the chromosomes of the score: give files of these, or mend the names"
    fix += "; `--match-only` writes what became of each variant"
    allow = (
        f", and `--min-matched {np.floor(100 * share) / 100:g}` scores all the same" if n_used[worst] else ""
    )
    raise DpgrsError(
        f"`{applied.outcomes[worst].path}` must have at least {least:.0%} of its variants in the target, got "
        f"{n_used[worst]} of {n_variants[worst]} ({share:.1%}; {reasons}){others}. {fix}{allow}."
    )


def describe_statuses(status):
    """Say in words how many variants have which status, the most first."""
    counted = Counter(status).most_common()
    said = [f"{times} {name}" for name, times in counted[:_MOST_REASONS]]
    return ", ".join(said) + (", and others" if len(counted) > _MOST_REASONS else "")
