"""What the pages of a benchmark tell of the variants that were chosen for its outcomes."""

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


def read_screening(choices, variant_set, outcomes, settings):
    """Compare the choices of a replicate with those without privacy, and with the causal variants.

    Parameters
    ----------
    choices : list of paths of choices, those without privacy among them.
    variant_set : VariantSet
    outcomes : Outcomes of the same replicate.
    settings : dict, resolved.

    Returns
    -------
    Screening
    """
    found = [_Found(*item) for path in choices for item in load_labelled(path)]
    exact = {(one.selector, one.size): one for one in found if one.is_exact}
    largest, shown = variant_set.n_variants, found[0].selector
    causal = _Causal(variant_set, outcomes) if _some_are_causal(outcomes) else None
    rows = [
        _row(one, count, exact[one.selector, one.size], causal)
        for one in found
        for count in (_counts(found, one) if one.is_exact else [one.count])
    ]
    shown_choices = [
        Choice(one.accounting, one.epsilon, one.chosen, shown)
        for one in [exact[shown, largest], *(one for one in found if one.is_private)]
        if (one.selector, one.size, one.count) == (shown, largest, len(outcomes.names))
    ]
    return Screening(
        methods=tuple(name for name in METHODS if METHODS[name].is_screened and name in settings.methods),
        share=settings.screening.share,
        partner_r2=PARTNER_R2,
        scores=exact[shown, largest].arrays["scores"],
        choices=shown_choices,
        rows=sorted(rows, key=lambda row: (-row.n_variants, -row.n_outcomes)),
        causal_r2=causal.closest(largest, [one.chosen for one in shown_choices]) if causal else None,
    )


class _Found:
    """One item of the file of choices."""

    def __init__(self, label, arrays):
        request = label.get("request", {"n_variants": label.get("n_variants")})
        self.arrays, self.chosen, self.is_exact = arrays, arrays["chosen"], "request" not in label
        self.size, self.count = request["n_variants"], len(self.chosen)
        self.selector, self.note = label["selector"], label.get("note", "")
        self.is_private, self.accounting, self.epsilon = False, "", None
        if not (self.is_exact or self.note):
            self.is_private, self.accounting, self.epsilon = True, request["accounting"], request["epsilon"]


class _Causal:
    """The causal variants of simulated outcomes, and how variant sets of all sizes go with them."""

    def __init__(self, variant_set, outcomes):
        terms = {"rows": outcomes.rows, "is_training": outcomes.is_training}
        self._r2 = squared_correlations(
            variant_set.haplotypes(), n_haplotypes=variant_set.n_haplotypes, **terms
        )
        self._of_size = variant_set.of_size
        self._is_causal = {size: effects != 0 for size, effects in outcomes.effects.items()}

    def _r2_of(self, size):
        columns = self._of_size(size)
        return lambda first, second: self._r2(columns[first], columns[second])

    def closest(self, size, choices):
        for_each = zip(np.concatenate(choices, axis=1), self._is_causal[size], strict=True)
        return [
            dict(zip(own.tolist(), closest_causal(own, is_causal, self._r2_of(size)).tolist(), strict=True))
            for own, is_causal in for_each
        ]

    def means(self, size, chosen):
        is_causal = self._is_causal[size][: len(chosen)]
        counts = overlap(chosen, is_causal, self._r2_of(size))
        return {name: counted.mean() for name, counted in counts._asdict().items()} | {
            "n_causal": np.count_nonzero(is_causal, axis=1).mean()
        }


def _some_are_causal(outcomes):
    """Tell whether there is something to hit: outcomes of which some variants are causal, but not all."""
    return any(not (effects != 0).all() for effects in outcomes.effects.values())


def _counts(found, exact):
    """Return the numbers of outcomes of a variant set's noisy choices; all outcomes where there are none."""
    own = (exact.selector, exact.size)
    counts = {one.count for one in found if not one.is_exact and (one.selector, one.size) == own}
    return sorted(counts or {exact.count})


def _row(one, count, exact, causal):
    chosen = one.chosen[:count]
    return ChoiceRow(
        one.size,
        count,
        one.accounting,
        one.epsilon,
        n_shared(chosen, exact.chosen[:count]).mean(),
        **(causal.means(one.size, chosen) if causal else {}),
        selector=one.selector,
        note=one.note,
    )
