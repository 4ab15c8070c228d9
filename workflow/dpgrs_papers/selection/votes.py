"""Choices by votes: groups of people fit a Lasso each, how many groups by a private count and a rule."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.selection.chooser import Chooser
from dpgrs.types import Rows
from dpgrs_papers.methods.lower_count import private_lower_count
from dpgrs_papers.selection.sublasso import GroupRule, VotesRequest, choose_by_votes, private_sublasso

if TYPE_CHECKING:
    from dpgrs.methods.chosen_requests import ScreenedRequest
    from dpgrs.privacy.audit.audit import AuditCase
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.selection.screening_data import ScreeningData

GROUP_SEED = 0  # of the public hash that puts people into groups


class Votes(Chooser):
    """Choices by the votes of groups, by a rule for their number."""

    rule: GroupRule

    def request(self, screened: "ScreenedRequest", **options: Any) -> VotesRequest:
        count_epsilon = screened.epsilon_of_one(screened.share_of_count)
        return VotesRequest(count_epsilon=count_epsilon, rule=self.rule, **options, **screened.relation)

    def choose(
        self,
        data: "ScreeningData",
        number: int,
        *,
        request: VotesRequest,
        noise: "NoiseSource",
        outcome_bound: float,
    ) -> tuple:
        keys, events, n_low = data.unit_keys(request.rows_per_unit), [], request.n_low
        if n_low is None:
            n_low = len(keys)
        if request.has_private_count:
            count_options = {"epsilon": request.count_epsilon, "request": request, "noise": noise}
            n_low, *events = private_lower_count(n_low, **count_options)
        chosen, event = private_sublasso(
            data.rows_by_index,
            data.Y[number, data.is_training],
            k=request.n_choices,
            epsilon=request.epsilon,
            n_low=n_low,
            rule=request.rule,
            seed=GROUP_SEED,
            noise=noise,
            unit_keys=keys,
            neighbours=request.neighbours,
            unit=request.unit,
            protection=request.protection,
            rows_per_unit=request.rows_per_unit,
            lasso=request.lasso,
            law=request.law,
        )
        return chosen, *events, event

    def choose_exactly(
        self, data: "ScreeningData", number: int, *, n_choices: int, outcome_bound: float
    ) -> np.ndarray:
        # People, whatever the unit of the private twin.
        per_person = 2 if data.rows == Rows.HAPLOTYPES else 1
        y, keys = data.Y[number, data.is_training], data.unit_keys(per_person)
        vote_options = {"rule": self.rule, "seed": GROUP_SEED, "rows_per_unit": per_person}
        return choose_by_votes(data.rows_by_index, y, k=n_choices, unit_keys=keys, **vote_options)

    def audit_cases(self) -> "list[AuditCase]":
        from dpgrs_papers.selection.audits.votes import votes_cases

        return votes_cases()


class TwoStage(Votes):
    """Votes of groups, for methods that take a private count."""

    rule = GroupRule.TWO_STAGE


class SubLasso(Votes):
    """Votes of small groups."""

    rule = GroupRule.SUBLASSO

    def request_of_table(self, table_request: Any, *, epsilon: float, n_low: float) -> VotesRequest:
        options = {"lasso": table_request.lasso, "law": table_request.law, "epsilon": epsilon, "n_low": n_low}
        relation = {"neighbours": table_request.neighbours}
        return VotesRequest(n_choices=table_request.k, rule=self.rule, **options, **relation)
