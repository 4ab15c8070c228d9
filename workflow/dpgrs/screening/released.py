"""The mechanism of releases that choose variants for each outcome and sum up the chosen ones."""

from dataclasses import replace
from types import MappingProxyType

from dpgrs.errors import DpgrsError
from dpgrs.methods import METHODS
from dpgrs.regression.released_sums import SeparateFits
from dpgrs.screening.chosen import ChosenStatistics, fit_chosen, private_choices, private_chosen_statistics
from dpgrs.screening.requests import restored_request


class ChosenFits(SeparateFits):
    """The count, and for every outcome by itself the variants chosen for it and their X'X and X'y."""

    name = "chosen-statistics"
    methods = ("k-blup", "s-blup")
    draws = MappingProxyType({"genotypes": ("count",), "outcomes": ("gram", "cross")})

    def request(self, terms):
        return restored_request(terms)

    def terms(self, request):
        return request.statistics

    def pure_budget(self, request):
        return (request.choices.epsilon_of_choices,)

    def draw(self, data, *, request, noise, outcome_names, frequency):
        """Choose, then release the statistics; parameters as in `private_chosen_statistics`.

        Parameters
        ----------
        data : ScreeningData
        request : ScreenedRequest
        """
        options = {"noise": noise, "outcome_names": outcome_names}
        chosen, events = private_choices(data, **request.choosing, **options)
        drawn = private_chosen_statistics(
            data, chosen, request=request.statistics, frequency=frequency, **options
        )
        return replace(drawn, events=(*events, *drawn.events))

    def arrays(self, drawn):
        return super().arrays(drawn) | {"chosen": drawn.chosen}

    def restore(self, label, arrays):
        return ChosenStatistics(**arrays, n=label["n"])

    def outputs(self, drawn, names, request):
        parts = super().outputs(drawn, names, request.statistics)
        for name, chosen in zip(names, drawn.chosen, strict=True):
            parts["outcomes", name] += (chosen,)
        return parts

    def behind(self, part, names, request):
        return part

    def fit(self, method, drawn, *, request, terms, outcomes=None):
        wanted, selector = METHODS[method].selector, request.screening.selector
        if wanted != selector:
            raise DpgrsError(
                f"The chosen variants must be by {wanted} for `methods: {method}`, got {selector}. "
                "Run the study again."
            )
        options = {"request": request.statistics, "terms": terms, "n_variants": request.n_variants}
        return fit_chosen(drawn, "blup", **options)
