"""A method and a selector of another package: `test_new_method.py` runs studies with them."""

import numpy as np

from dpgrs.linalg.coding import CROSS_STEP
from dpgrs.linalg.outcome_grid import grid_outcomes
from dpgrs.linalg.statistics import cross_product
from dpgrs.methods.audits.sums import reusecov_cases
from dpgrs.methods.fitter import Fitter
from dpgrs.methods.reusecov import fit_reusecov
from dpgrs.methods.sum_mechanisms import OwnStatistics
from dpgrs.privacy.audit.audit import AuditCase, PureLoss
from dpgrs.privacy.sensitivity import Sensitivity, cross_sensitivity
from dpgrs.selection.chooser import Chooser
from dpgrs.selection.dp_kendall import KendallRequest


class MadeUpStatistics(OwnStatistics):
    """ReuseCov's statistics, drawn for this method alone."""

    name = "made-up-statistics"


class MadeUp(Fitter):
    """Ridge regression with twice the penalty."""

    mechanism = MadeUpStatistics

    def audit_cases(self):
        return reusecov_cases()

    def fit(self, drawn, *, request, terms, outcomes=None):
        return fit_reusecov(drawn, penalty=2 * terms.penalty).in_half_coding(drawn.origin)


def private_made_up_scores(scores, claim, *, step, request, noise):
    """Choose the variants of the largest products with an outcome, by permute-and-flip.

    Privacy
    -------
    As docs/proofs/kendall.md, with products in place of correlations: a ChoiceEvent.
    """
    return noise.choose(
        scores,
        name="made up scores",
        step=step,
        sensitivity=claim,
        epsilon=request.epsilon,
        n_choices=request.n_choices,
    )


def scores_of(data, number, outcome_bound):
    """Return the sizes of the products of all variants and one outcome, exact integers."""
    y = grid_outcomes(data.Y[[number]], bound=outcome_bound)
    terms = {"n_haplotypes": data.n_haplotypes, "rows": data.rows, "is_selected": data.is_training}
    return np.abs(cross_product(data.in_memory.genotypes, y, **terms)[0, :-1])


class ByProducts(Chooser):
    """Choices by products."""

    def request(self, screened, **own):
        return KendallRequest(delta=0.0, **own, **screened.relation)

    def choose(self, data, number, *, request, noise, outcome_bound):
        scores = scores_of(data, number, outcome_bound)
        terms = {"neighbours": request.neighbours, "unit": request.unit}
        value = cross_sensitivity(1, 1, rows=data.rows, outcome_bound=outcome_bound, **terms).value
        claim = Sensitivity(value, "linf", *terms.values(), "cross_product/1")
        return private_made_up_scores(scores, claim, step=CROSS_STEP, request=request, noise=noise)

    def choose_exactly(self, data, number, *, n_choices, outcome_bound):
        return np.argsort(-scores_of(data, number, outcome_bound), kind="stable")[:n_choices]

    def audit_cases(self):
        return cases()


def cases():
    """Return the audit of one choice of two variants."""
    claim = Sensitivity(1.0, "linf", "add-remove", "person", "kendall/1")
    request = KendallRequest(n_choices=1, epsilon=2.0, delta=0.0, rows="people")
    terms = {"neighbours": "add-remove", "unit": "person"}
    return [
        AuditCase(
            mechanism="private_made_up_scores",
            terms=terms,
            pair=(np.array([1, 0]), np.array([0, 1])),
            claim=PureLoss(2.0),
            run=lambda scores, noise: private_made_up_scores(
                scores, claim, step=1.0, request=request, noise=noise.of("outcomes", "a")
            )[0],
            score=lambda chosen: 2 * chosen[0] - 1,
        )
    ]
