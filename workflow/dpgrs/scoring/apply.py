"""A target scored: sums, averages and predictions of all people, and the report of the match."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.allele_matching import Places, match_pairs
from dpgrs.io.chromosomes import chromosome_name
from dpgrs.io.genome_builds import LENGTHS, BuildCheck, DeclaredBuild, declared_builds
from dpgrs.io.sites import read_sites
from dpgrs.io.target import Piece, Target
from dpgrs.scoring.ancestry import Adjusted, adjust_scores
from dpgrs.scoring.matching import USED, Matching
from dpgrs.scoring.reference import (
    Reference,
    found_components,
    read_reference,
    score_reference,
    with_candidates,
)
from dpgrs.scoring.score_files import Outcome, SharedSites, list_scores, read_scores, score_builds
from dpgrs.scoring.sites import DUPLICATES, REPEATED, Sites
from dpgrs.scoring.sums import ScoreSums, expected_sums

BUILD = "--genome-build"
LEAST_MATCHED = 0.75
_MOST_REASONS = 4
_MOST_NAMED = 3


class Scored(NamedTuple):
    """The people of a reference."""

    samples: tuple[str, ...]
    sums: np.ndarray  # (n_outcomes, n_reference) float64, by the variants used in the target
    components: np.ndarray  # (n_components, n_reference) float64
    adjusted: Adjusted


@dataclass
class Applied:
    """Scores of people."""

    samples: tuple[str, ...]
    build: str | None  # of the target, if known
    shared: list[SharedSites]  # in whose order the outcomes are
    matching: Matching
    # (n_outcomes, n_people) float64; None if variants were only matched, as are the next two.
    sums: np.ndarray | None = None
    # (n_outcomes, n_people) float64, in the outcome's unit; NaN without a constant.
    predictions: np.ndarray | None = None
    # (n_outcomes,) int64, variants that are not in the sum and have no public frequency: the prediction has
    # nothing for them.
    n_unknown: np.ndarray | None = None
    # (n_components, n_people) float64, projections on the components of the reference; None without a
    # reference, as are the next two.
    components: np.ndarray | None = None
    adjusted: Adjusted | None = None
    reference: Scored | None = None  # the reference itself
    # Records read, haploid calls, alleles filled, variants filled by the target's frequency.
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def outcomes(self) -> list[Outcome]:
        """List of Outcome, in the order of the rows."""
        return [outcome for scores in self.shared for outcome in scores.outcomes]

    @property
    def n_variants(self) -> np.ndarray:
        """The (n_outcomes,) int64 variants of each score, each counted once if repeats are left out."""
        is_own = self.matching.status != REPEATED
        return np.concatenate(
            [np.full(len(scores.outcomes), is_own[scores.rows].sum()) for scores in self.shared]
        )

    @property
    def n_used(self) -> np.ndarray:
        """The (n_outcomes,) int64 variants of each score that are in its sum."""
        is_used = self.matching.is_used
        return np.concatenate(
            [np.full(len(scores.outcomes), is_used[scores.rows].sum()) for scores in self.shared]
        )

    @property
    def averages(self) -> np.ndarray:
        """The (n_outcomes, n_people) float64 sums by allele of the variants in them, as plink2 computes."""
        return self.sums / np.maximum(2 * self.n_used, 1)[:, np.newaxis]

    def shown(self) -> tuple[np.ndarray, list[str], np.ndarray, np.ndarray]:
        """Return values of people for a page, (n_outcomes, n_people) float64, their units, limits and
        spreads.

        Values are predictions if there are any, else ``Z_norm1`` beside a reference, which is NaN of scores
        that do not vary there, else sums. Limits are (n_outcomes, 2) float64, between which values can lie: 0
        and 1 for shares of cases. Spreads are (n_outcomes,) float64, standard deviations of the outcome
        itself; NaN if not known.
        """
        has_constant = [not math.isnan(outcome.constant) for outcome in self.outcomes]
        other_values = self.sums if self.adjusted is None else self.adjusted.mean
        other_unit = "raw sum" if self.adjusted is None else "Z_norm1"
        values = np.where(np.array(has_constant)[:, np.newaxis], self.predictions, other_values)
        unit = {True: "outcome's own unit", False: "standard deviations of the outcome"}
        units = [
            unit[outcome.has_unit] if is_prediction else other_unit
            for outcome, is_prediction in zip(self.outcomes, has_constant, strict=True)
        ]
        limits = [
            (0.0, 1.0) if is_prediction and outcome.is_binary else (-math.inf, math.inf)
            for outcome, is_prediction in zip(self.outcomes, has_constant, strict=True)
        ]
        scales = np.array([outcome.scale for outcome in self.outcomes])
        return values, units, np.array(limits), np.where(has_constant, scales, math.nan)

    def take_sums(self, raw: np.ndarray, sums: ScoreSums) -> None:
        """Make predictions of raw sums, (n_outcomes, n_people), and count what `sums` filled."""
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
    target: Sequence[Path | str],
    scores: Sequence[Path | str],
    *,
    genome_build: str | None = None,
    frequencies: Path | str | None = None,
    field: str = "GT",
    min_matched: float = LEAST_MATCHED,
    keeps_ambiguous: bool = True,
    only_match: bool = False,
    reference: Sequence[Path | str] | None = None,
    components: int = 4,
    duplicates: str = "refuse",
    threads: int = 2,
) -> Applied:
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
    only_match : bool, whether to match the variants only; then too few of them are no error.
    reference : list of paths of a public panel, as `target`, or None. Then only variants that it has are
        used, its frequencies fill missing calls where no others are told, and scores are put beside its own.
    components : int, principal components of the reference to adjust scores for.
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
        raise UsageError(
            "duplicates-unknown",
            f"`duplicates` must be {', '.join(DUPLICATES)}, got {duplicates}. Correct it.",
        )
    target_terms = {"genome_build": genome_build, "field": field, "reference": reference}
    score_outcomes = list_scores(scores)
    people, reference_people, build = open_people(target, score_builds(score_outcomes), **target_terms)
    sites, shared = read_scores(score_outcomes, build=build, duplicates=duplicates)
    if frequencies is not None:
        _take_frequencies(sites, frequencies)
    read = None
    if reference_people is not None:
        read = read_reference(reference_people, sites, keeps_ambiguous=keeps_ambiguous)
        sites = with_candidates(sites, read)
    applied = Applied(people.samples, build, shared, Matching(sites, keeps_ambiguous=keeps_ambiguous))
    if only_match or read:
        for piece in _pieces(people, sites, build):
            applied.matching.match(piece.columns)
    if not only_match:
        options = {"n_components": components, "threads": threads, "least": min_matched}
        _score(applied, people, read, **options)
    applied.counts |= {"records": people.n_records, "haploid_calls": people.n_haploid}
    if field == "DS":
        applied.counts["calls_as_dosages"] = people.n_calls_as_dosages
    if people.n_alts_left_out:
        applied.counts["alts_left_out_of_stores"] = people.n_alts_left_out
    return applied


def open_people(
    target: Path | str | Sequence[Path | str],
    builds: Collection[str] | None,
    *,
    genome_build: str | None = None,
    field: str = "GT",
    reference: Sequence[Path | str] | None = None,
) -> tuple[Target, Target | None, str | None]:
    """Open a target and its reference, and return both with the build of all of them, as far as headers say.

    `builds` are those in which all scores can be read; None if none says any. Other arguments are as for
    `apply_scores`. Damaged headers, other people in a file, and another genome build are refused.
    """
    people = Target(target, field=field)
    build = _agreed_build(people, builds, genome_build)
    if reference is None:
        return people, None, build
    reference_people = Target(reference)
    _require_same_build(reference_people, build)
    return people, reference_people, build


def _score(
    applied: Applied,
    people: Target,
    reference: Reference | None,
    *,
    n_components: int,
    threads: int,
    least: float,
) -> None:
    """Sum all scores, first in the reference, if there is one."""
    sites, shared, component_scores = applied.matching.sites, applied.shared, []
    if reference:
        _require_matched(applied, least, n_records=people.n_records)
        is_used = applied.matching.is_used
        component_rows = found_components(
            reference.candidates, is_used[len(sites) - len(reference.candidates) :]
        )
        problem = np.where(is_used, sites.problem, applied.matching.status).astype(object)
        matched_sites = replace(sites, problem=problem)
        options = {"n_components": n_components, "threads": threads}
        scored = score_reference(reference, matched_sites, shared, component_rows, **options)
        sums_there, components_there, projection, shift = scored
        component_scores = [projection]
        people.begin()
        keeps_ambiguous = applied.matching.keeps_ambiguous
        applied.matching = Matching(sites, keeps_ambiguous=keeps_ambiguous)
    n_people = len(people.samples)
    sums = ScoreSums(applied.matching, shared + component_scores, n_people=n_people, n_threads=threads)
    sums.add_all(_pieces(people, sites, applied.build))
    _require_matched(applied, least, n_records=people.n_records)
    n_outcomes = len(applied.outcomes)
    applied.take_sums(sums.sums[:n_outcomes], sums)
    if reference:
        components = sums.sums[n_outcomes:] + shift[:, np.newaxis]
        there = {"reference_scores": sums_there, "reference_components": components_there}
        applied.components, applied.reference = (
            components,
            Scored(
                reference.target.samples,
                sums_there,
                components_there,
                adjust_scores(sums_there, components_there, **there),
            ),
        )
        applied.adjusted = adjust_scores(applied.sums, components, **there)
        applied.counts |= {
            "reference_people": len(reference.target.samples),
            "component_variants": len(component_rows),
        }


def _pieces(people: Target, sites: Sites, build: str | None) -> Iterable[Piece]:
    """Return the pieces of a target with the variants of scores, held against a genome build."""
    pieces = people.pieces(sites.contigs)
    return pieces if build is None else _of_build(pieces, build)


def _agreed_build(people: Target, of_scores: Collection[str] | None, stated: str | None) -> str | None:
    """Return the build of positions of target and scores, or None if nothing says it."""
    if stated is not None and stated not in LENGTHS:
        raise UsageError(
            "genome-build-unknown", f"`{BUILD}` must be {' or '.join(LENGTHS)}, got {stated}. Correct it."
        )
    declared = _declared(people)
    if stated and declared and stated not in declared:
        header = next(iter(declared.values()))
        raise UsageError(
            "stated-build-wrong",
            f"`{BUILD}` must be {header.build}, by the length of chromosome {header.chromosome} in "
            f"`{header.path}`, got {stated}. Correct it, or lift the positions over.",
        )
    build = stated or next(iter(declared), None)
    if of_scores is None or build in of_scores:
        return build
    if build is None and len(of_scores) == 1:
        return next(iter(of_scores))
    if build is None:
        # Harmonised files have two.
        raise UsageError(
            "genome-build-not-stated",
            f"`{BUILD}` must say the build of the target, as neither its header nor the scores do, got "
            f"{' or '.join(sorted(of_scores)) or 'scores of different builds'}. Give it.",
        )
    # The file that differs is named by who opens it.
    return build


def _declared(people: Target) -> dict[str, DeclaredBuild]:
    """Return the builds that headers declare."""
    headers = dict.fromkeys(people.header.contigs, people.header)
    return {build.build: build for build in declared_builds(headers)}


def _require_same_build(reference: Target, build: str | None) -> None:
    """Refuse a reference whose header declares another build than the target's."""
    declared = _declared(reference)
    if build and declared and build not in declared:
        header = next(iter(declared.values()))
        raise UsageError(
            "reference-of-another-build",
            f"`--reference` must be of the target's genome build, {build}, got {header.build}, by the length "
            f"of chromosome {header.chromosome} in `{header.path}`. Take a panel of that build.",
        )


def _of_build(pieces: Iterable[Piece], build: str) -> Iterator[Piece]:
    """Pass pieces on, and refuse a file with positions of another build."""
    checks = {}
    for piece in pieces:
        check = checks.setdefault(piece.path, BuildCheck(piece.path, build, key=BUILD))
        check.add(piece.columns)
        yield piece
    for check in checks.values():
        check.finish()


def _take_frequencies(sites: Sites, path: Path | str) -> None:
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
    for is_selected in (is_flipped, ~is_flipped):
        pairs = np.flatnonzero(is_selected & (sign != 0))
        sites.frequency[sought[pairs]] = np.where(sign[pairs] > 0, frequency[pairs], 1 - frequency[pairs])


def _require_matched(applied: Applied, least: float, *, n_records: int) -> None:
    """Refuse scores of which too few variants are in the sums."""
    n_used, n_variants, shared = applied.n_used, applied.n_variants, applied.shared
    few = np.flatnonzero((n_used < least * n_variants) | (n_used == 0))
    if not len(few):
        return
    worst = few[np.argmin((n_used / n_variants)[few])]
    ends = np.cumsum([len(scores.outcomes) for scores in shared])
    status = applied.matching.status[shared[np.searchsorted(ends, worst, side="right")].rows]
    reasons = describe_statuses([name for name in status if name not in USED])
    other_scores = f", and too few of {len(few) - 1} more score{'s' * (len(few) > 2)}" if len(few) > 1 else ""
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
        "too-few-matched-variants",
        f"`{applied.outcomes[worst].path}` must have at least {least:.0%} of its variants in the target, got "
        f"{n_used[worst]} of {n_variants[worst]} ({share:.1%}; {reasons}){other_scores}. {fix}{allow}.",
    )


def describe_statuses(status: Iterable[str]) -> str:
    """Return in words how many variants have which status, the most first."""
    counted = Counter(status).most_common()
    phrases = [f"{times} {name}" for name, times in counted[:_MOST_REASONS]]
    return ", ".join(phrases) + (", and others" if len(counted) > _MOST_REASONS else "")
