"""The data of pages on variants that were chosen for the outcomes of a benchmark."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.evaluation.overlap import (
    PARTNER_R2,
    closest_causal,
    n_shared,
    overlap,
    squared_correlations,
)
from dpgrs.io.replicates import load_labelled
from dpgrs.methods.registry import METHODS
from dpgrs.reporting.data import Choice, ChoiceRow, Screening

if TYPE_CHECKING:
    from dpgrs.io.outcomes import Outcomes
    from dpgrs.io.variant_set import VariantSet


def read_screening(
    choices: Sequence[Path | str], variant_set: "VariantSet", outcomes: "Outcomes", settings: Any
) -> Screening:
    """Compare the choices of a replicate with those without privacy, and with the causal variants.

    `choices` are files of choices, those without privacy among them; outcomes are of the same replicate.
    """
    all_choices = [_Found(*item) for path in choices for item in load_labelled(path)]
    exact = {(choice.selector, choice.size): choice for choice in all_choices if choice.is_exact}
    largest, shown = variant_set.n_variants, all_choices[0].selector
    causal = _Causal(variant_set, outcomes) if _some_are_causal(outcomes) else None
    rows = [
        _row(choice, count, exact[choice.selector, choice.size], causal)
        for choice in all_choices
        for count in (_counts(all_choices, choice) if choice.is_exact else [choice.count])
    ]
    shown_choices = [
        Choice(choice.accounting, choice.epsilon, choice.chosen, shown)
        for choice in [exact[shown, largest], *(choice for choice in all_choices if choice.is_private)]
        if (choice.selector, choice.size, choice.count) == (shown, largest, len(outcomes.names))
    ]
    return Screening(
        methods=tuple(name for name in METHODS if METHODS[name].is_screened and name in settings.methods),
        share=settings.screening.share,
        partner_r2=PARTNER_R2,
        scores=exact[shown, largest].arrays["scores"],
        choices=shown_choices,
        rows=sorted(rows, key=lambda row: (-row.n_variants, -row.n_outcomes)),
        causal_r2=causal.closest(largest, [choice.chosen for choice in shown_choices]) if causal else None,
    )


class _Found:
    """One item of the file of choices."""

    def __init__(self, label: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        request = label.get("request", {"n_variants": label.get("n_variants")})
        self.arrays, self.chosen, self.is_exact = arrays, arrays["chosen"], "request" not in label
        self.size, self.count = request["n_variants"], len(self.chosen)
        self.selector, self.note = label["selector"], label.get("note", "")
        self.is_private, self.accounting, self.epsilon = False, "", None
        if not (self.is_exact or self.note):
            self.is_private, self.accounting, self.epsilon = True, request["accounting"], request["epsilon"]


class _Causal:
    """The causal variants of simulated outcomes, and their LD with variant sets of all sizes."""

    def __init__(self, variant_set: "VariantSet", outcomes: "Outcomes") -> None:
        rows_compared = {"rows": outcomes.rows, "is_training": outcomes.is_training}
        self._r2 = squared_correlations(
            variant_set.haplotypes(), n_haplotypes=variant_set.n_haplotypes, **rows_compared
        )
        self._of_size = variant_set.of_size
        self._is_causal = {size: effects != 0 for size, effects in outcomes.effects.items()}

    def _r2_of(self, size: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        columns = self._of_size(size)
        return lambda first, second: self._r2(columns[first], columns[second])

    def closest(self, size: int, choices: Sequence[np.ndarray]) -> list[dict[int, float]]:
        for_each = zip(np.concatenate(choices, axis=1), self._is_causal[size], strict=True)
        return [
            dict(
                zip(
                    variants.tolist(),
                    closest_causal(variants, is_causal, self._r2_of(size)).tolist(),
                    strict=True,
                )
            )
            for variants, is_causal in for_each
        ]

    def means(self, size: int, chosen: np.ndarray) -> dict[str, float]:
        is_causal = self._is_causal[size][: len(chosen)]
        counts = overlap(chosen, is_causal, self._r2_of(size))
        return {name: counted.mean() for name, counted in counts._asdict().items()} | {
            "n_causal": np.count_nonzero(is_causal, axis=1).mean()
        }


def _some_are_causal(outcomes: "Outcomes") -> bool:
    """Return whether there is something to hit: outcomes of which some variants are causal, but not all."""
    return any(not (effects != 0).all() for effects in outcomes.effects.values())


def _counts(choices: Sequence[_Found], exact: _Found) -> list[int]:
    """Return the numbers of outcomes of a variant set's noisy choices; all outcomes if there are none."""
    selection = (exact.selector, exact.size)
    counts = {
        choice.count
        for choice in choices
        if not choice.is_exact and (choice.selector, choice.size) == selection
    }
    return sorted(counts or {exact.count})


def _row(choice: _Found, count: int, exact: _Found, causal: _Causal | None) -> ChoiceRow:
    chosen = choice.chosen[:count]
    return ChoiceRow(
        choice.size,
        count,
        choice.accounting,
        choice.epsilon,
        n_shared(chosen, exact.chosen[:count]).mean(),
        **(causal.means(choice.size, chosen) if causal else {}),
        selector=choice.selector,
        note=choice.note,
    )
