"""DPKendall (Algorithm 1 of [1]_): features that go with an outcome and not with each other, one by one.

In round t the score of a feature is |tau^(x_j, y)| less the mean of |tau^(x_j, x_s)| over the features s that
are chosen already. A choice compares exact integers. No bounds on outcomes are needed
(docs/explanation/screening.md).

References
----------
.. [1] Dick, Gillenwater, Joseph (2023). Better private linear regression through better private feature
   selection. NeurIPS.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.genotypes.blocks import map_in_parts, variant_blocks
from dpgrs.privacy.accounting.composition import epsilon_of_choices
from dpgrs.privacy.accounting.events import CHOICES
from dpgrs.privacy.sensitivity import Sensitivity, kendall_sensitivity
from dpgrs.selection.chooser import Chooser
from dpgrs.selection.kendall import comparison_with, feature_scores, range_of, scores_of_all
from dpgrs.selection.kendall_rounds import side_by_side
from dpgrs.types import Composition, Neighbours, PairKernel, Protection, Rows, Selection, Unit

if TYPE_CHECKING:
    from dpgrs.io.stored_genotypes import StoredGenotypes
    from dpgrs.methods.chosen_requests import ScreenedRequest
    from dpgrs.privacy.accounting.events import ChoiceEvent
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.selection.screening_data import ScreeningData

LARGEST_SCORE = 2**62
# The key of the pairs in `ScreeningData.kept`.
PAIRS = "pairs of Kendall"
SCORES_AT_A_TIME = 2**20  # of variants with those that were chosen last


@dataclass(frozen=True, kw_only=True)
class KendallRequest:
    """The public terms of one choice of features."""

    n_choices: int
    epsilon: float  # of all choices together
    delta: float = 0.0  # of all choices together; spent only by zCDP composition
    rows: Rows = Rows.PEOPLE
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: Unit = Unit.PERSON
    protection: Protection = Protection.FULL
    against_outcome: PairKernel = PairKernel.BOUNDED  # `sign` for both of features without a public range
    against_feature: PairKernel = PairKernel.PRODUCT
    law: Selection = Selection.PERMUTE_AND_FLIP
    composition: Composition = Composition.BASIC

    def _claim(self, kernel: PairKernel) -> Sensitivity:
        fields = {name: getattr(self, name) for name in ("rows", "neighbours", "unit", "protection")}
        return kendall_sensitivity(kernel=kernel, **fields)

    @cached_property
    def claim(self) -> Sensitivity:
        """The bound on how far a score moves; scores of the first round count `first_factor` times.

        It holds under label protection too: features are compared over the rows with the outcome, which is
        private.
        """
        outcome = self._claim(self.against_outcome)
        bound = outcome.value + self._claim(self.against_feature).value
        return Sensitivity(bound, outcome.norm, outcome.neighbours, outcome.unit, outcome.law)

    @property
    def first_factor(self) -> Fraction:
        """How many times less the scores of the first round move than scores of a later one."""
        return Fraction(self.claim.value) / Fraction(self._claim(self.against_outcome).value)

    @property
    def epsilon_of_choices(self) -> float:
        """The cost of all choices under basic composition: `epsilon`, and more of many under zCDP."""
        fields = {name: getattr(self, name) for name in ("n_choices", "law", "composition")}
        return epsilon_of_choices(self.epsilon, self.delta, **fields)

    @property
    def family(self) -> str:
        """The family of the event of a choice."""
        return CHOICES[Selection(self.law)].family


@dataclass(frozen=True)
class GenotypePairs:
    """Kendall's scores of the genotypes with one outcome, and with each other if it is known.

    Dosages are (n_variants, n_rows) int16. `genotype_pairs` takes scores and selected rows from the outcome;
    other shapes are refused.
    """

    against_outcome: ClassVar = PairKernel.BOUNDED
    against_feature: ClassVar = PairKernel.PRODUCT
    genotypes: "np.ndarray | StoredGenotypes"  # bits, (n_variants, n_words) uint64, or dosages
    outcome_scores: np.ndarray  # (n_variants,) int64, from `genotype_scores`
    n_haplotypes: int
    rows: Rows
    is_selected: np.ndarray  # (n_rows,) bool, rows with the outcome
    n_threads: int = 1  # at least 1, that compare variants; it changes no score

    def __post_init__(self) -> None:
        # The number of selected rows scales the noise: "all", said in any other way, must not count as none.
        mask = np.asarray(self.is_selected)
        n_rows = self.n_haplotypes if Rows(self.rows) == Rows.HAPLOTYPES else self.n_haplotypes // 2
        if (mask.dtype, mask.shape) != (np.dtype(bool), (n_rows,)):
            raise UsageError(
                "selected-rows-form",
                "`is_selected` must be a truth value for each row. Say which have the outcome.",
            )
        if np.shape(self.outcome_scores) != (len(self.genotypes),):
            raise UsageError(
                "outcome-scores-shape",
                "`outcome_scores` must be one row of a score for each variant. Score all of them.",
            )

    @property
    def n_rows(self) -> int:
        """The number of rows with the outcome."""
        return int(np.count_nonzero(self.is_selected))

    @property
    def pair_range(self) -> int:
        """The number of units that a pair of rows adds at most to a score with the outcome."""
        return range_of(self.genotypes, rows=self.rows)

    @property
    def feature_range(self) -> int:
        """The same of a score of two features, a multiple of `pair_range`."""
        return self.pair_range**2

    def feature_scores(self, number: int) -> np.ndarray:
        """Compare all features with one of them: (n_variants,) int64."""
        options = self._rows | {"is_selected": self.is_selected}
        return feature_scores(self.genotypes, self.genotypes[number], **options)

    def parts_of_feature_scores(
        self, numbers: Sequence[int], other_pairs: Sequence[Any]
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Compare all features with one of them for each outcome, with one look at the genotypes.

        `numbers` are the features of this outcome and of the others, `other_pairs` are GenotypePairs of the
        same genotypes. A slice of the features comes with its int64 scores for each outcome.
        """
        outcomes = [self, *other_pairs]
        are_selected = [outcome.is_selected for outcome in outcomes]
        compare = comparison_with(
            self.genotypes[np.asarray(numbers)], **self._rows, are_selected=are_selected
        )
        step = max(SCORES_AT_A_TIME // len(outcomes), 1)
        for columns, block in variant_blocks(self.genotypes):
            for first in range(0, len(block), step):
                part_block = block[first : first + step]
                features = slice(columns.start + first, columns.start + first + len(part_block))
                yield features, map_in_parts(compare, part_block, n_threads=self.n_threads)

    @property
    def _rows(self) -> dict:
        return {"n_haplotypes": self.n_haplotypes, "rows": self.rows}


class TablePairs:
    """Kendall's scores of features without a public range with an outcome, and with each other.

    Features, (n_features, n_rows), are numbers that float64 holds, without NaN; the outcome is (n_rows,)
    float64, NaN if missing.
    """

    against_outcome = against_feature = PairKernel.SIGN
    pair_range = feature_range = 1

    def __init__(self, features: np.ndarray, outcome: np.ndarray, *, rows: Rows | str = Rows.PEOPLE) -> None:
        self._features, self._outcome, self.rows = features, outcome, rows
        self.n_rows = int(np.count_nonzero(~np.isnan(outcome)))

    @cached_property
    def outcome_scores(self) -> np.ndarray:
        """The scores with the outcome, (n_features,) int64."""
        return self._scores(self._outcome)

    def feature_scores(self, number: int) -> np.ndarray:
        """Compare all features with one of them: (n_features,) int64."""
        against = np.where(np.isnan(self._outcome), np.nan, self._features[number])
        return self._scores(against)

    def parts_of_feature_scores(
        self, numbers: Sequence[int], other_pairs: Sequence[Any]
    ) -> Iterator[tuple[slice, Iterator[np.ndarray]]]:
        """Do as `GenotypePairs` does, all features at once."""
        outcomes = [self, *other_pairs]
        scores = (outcome.feature_scores(number) for number, outcome in zip(numbers, outcomes, strict=True))
        yield slice(None), scores

    def _scores(self, against: np.ndarray) -> np.ndarray:
        from dpgrs.selection.merge_sort import sign_scores  # brings numba, which takes 0.3 s

        return sign_scores(self._features, against)


def genotype_pairs(
    genotypes: "np.ndarray | StoredGenotypes",
    Y: np.ndarray,
    *,
    n_haplotypes: int,
    rows: Rows | str,
    n_threads: int = 1,
) -> list[GenotypePairs]:
    """Compare genotypes with all outcomes at once.

    Genotypes are bits, (n_variants, n_words) uint64, dosages, (n_variants, n_rows) int16, or on disk;
    outcomes are (n_outcomes, n_rows) float64, NaN if missing.
    """
    scores = scores_of_all(genotypes, Y, n_haplotypes=n_haplotypes, rows=rows, n_threads=n_threads)
    return [
        GenotypePairs(genotypes, outcome_scores, n_haplotypes, rows, ~np.isnan(y), n_threads)
        for outcome_scores, y in zip(scores, Y, strict=True)
    ]


def private_kendall(
    pairs: GenotypePairs | TablePairs, *, request: KendallRequest, noise: "NoiseSource"
) -> "tuple[np.ndarray, ChoiceEvent]":
    """Choose features by noisy scores.

    Parameters
    ----------
    pairs : GenotypePairs or TablePairs
    request : KendallRequest
    noise : NoiseSource, `on` the data of which the pairs are made.

    Returns
    -------
    chosen : (n_choices,) int64, in the order of choice.
    event : ChoiceEvent, at the cost under basic composition.

    Privacy
    -------
    Unit, neighbours and protection as requested. Sensitivity of a score: the sum of two claims of
    `kendall_sensitivity`; docs/proofs/kendall.md. Event ChoiceEvent: epsilon-DP, or (epsilon, delta)-DP by
    zCDP composition. Public: the number of features, their ranges and the request; the number of rows is not
    used in public. Not covered: relatives.

    Raises
    ------
    UsageError
        If there are fewer features than choices, scores could leave int64, or the request is about other
        kernels or rows than the pairs.
    """
    return _choose_for_each([pairs], [noise], request)[0]


def _choose_for_each(
    pairs: Sequence[GenotypePairs | TablePairs], sources: "Sequence[NoiseSource]", request: KendallRequest
) -> "list[tuple[np.ndarray, ChoiceEvent]]":
    """Do as `private_kendall` for each outcome: all of the same features, and each with its own source."""
    requested = request.against_outcome, request.against_feature, Rows(request.rows)
    for outcome_pairs in pairs:
        offered = outcome_pairs.against_outcome, outcome_pairs.against_feature, Rows(outcome_pairs.rows)
        if requested != offered:
            raise UsageError(
                "request-of-other-pairs",
                f"The request must be about the kernels and rows of the pairs, {', '.join(offered)}, "
                f"got {', '.join(requested)}. Ask for theirs.",
            )
        require_exact(outcome_pairs, request.n_choices)
    options = {
        "name": "Kendall's correlations",
        "sensitivity": request.claim,
        "epsilon": request.epsilon_of_choices,
        "n_choices": request.n_choices,
        "law": request.law,
    }
    choices = [
        noise.choose_in_rounds(n_entries=len(outcome_pairs.outcome_scores), **options)
        for outcome_pairs, noise in zip(pairs, sources, strict=True)
    ]
    return side_by_side(pairs, choices, first_factor=request.first_factor)


def require_exact(pairs: GenotypePairs | TablePairs, n_choices: int) -> None:
    """Refuse numbers of rows and choices for which a score could leave int64: before anything is charged.

    With an outcome a score is at most range n^2/4, or n^2/2 without a range, with a feature range^2 n^2/4 or
    n^2/2; `kendall_rounds.RoundScores` takes the first feature_range/pair_range times for each choice before,
    and the sum of the second.
    """
    if n_choices * pairs.feature_range * pairs.n_rows**2 > LARGEST_SCORE:
        raise UsageError(
            "sums-not-exact",
            "Sums over all rows and choices must be at most 2^62 to be exact. Choose fewer features.",
        )


def pairs_of(data: "ScreeningData") -> list[GenotypePairs] | list[TablePairs]:
    """Return the GenotypePairs of every outcome, or TablePairs of a table; they are scored at once."""
    if PAIRS not in data.kept:
        options = {"n_haplotypes": data.n_haplotypes, "rows": data.rows, "n_threads": data.n_threads}
        data.kept[PAIRS] = (
            [TablePairs(data.genotypes, y, rows=data.rows) for y in data.Y]
            if data.is_table
            else genotype_pairs(data.genotypes, data.Y, **options)
        )
    return data.kept[PAIRS]


def _for_pairs(pairs: GenotypePairs | TablePairs, request: KendallRequest) -> KendallRequest:
    """Return a request with the kernels of the columns."""
    return replace(request, against_outcome=pairs.against_outcome, against_feature=pairs.against_feature)


class Kendall(Chooser):
    """Choices by DPKendall."""

    def request(self, screened: "ScreenedRequest", **options: Any) -> KendallRequest:
        screening = screened.screening
        delta = screening.delta_share * screened.delta / screened.n_outcomes
        laws = {"law": screening.law, "composition": screening.composition}
        return KendallRequest(delta=delta, **laws, **options, **screened.relation)

    def choose(
        self,
        data: "ScreeningData",
        number: int,
        *,
        request: KendallRequest,
        noise: "NoiseSource",
        outcome_bound: float,
    ) -> "tuple[np.ndarray, ChoiceEvent]":
        pairs = pairs_of(data)[number]
        return private_kendall(pairs, request=_for_pairs(pairs, request), noise=noise)

    def choose_for_all(
        self,
        data: "ScreeningData",
        sources: "Sequence[NoiseSource]",
        *,
        request: KendallRequest,
        outcome_bound: float,
    ) -> "list[tuple[np.ndarray, ChoiceEvent]]":
        """Choose for the first outcomes of a study, with one look at the genotypes for all.

        Privacy
        -------
        As `private_kendall` (docs/proofs/kendall.md), once for each outcome: one ChoiceEvent each.
        """
        pairs = pairs_of(data)[: len(sources)]
        return _choose_for_each(pairs, sources, _for_pairs(pairs[0], request))

    def choose_exactly(
        self, data: "ScreeningData", number: int, *, n_choices: int, outcome_bound: float
    ) -> np.ndarray:
        from dpgrs.selection.greedy_kendall import greedy_choices  # which imports this module

        key = ("greedy choices", n_choices)
        if key not in data.kept:
            data.kept[key] = greedy_choices(pairs_of(data), n_choices=n_choices)
        return data.kept[key][number]

    def request_of_table(self, terms: Any, *, epsilon: float, n_low: float) -> KendallRequest:
        law = {"neighbours": terms.neighbours, "law": terms.law}
        return KendallRequest(n_choices=terms.k, epsilon=epsilon, **law)

    def audit_cases(self) -> "list[AuditCase]":
        from dpgrs.selection.audits.kendall import kendall_cases

        return kendall_cases()
