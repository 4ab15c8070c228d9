"""What is drawn from rows, of variants chosen for each outcome or of all: charged, then drawn in secret."""

from functools import partial

from dpgrs.io.panel import Panel, check_same_people
from dpgrs.io.trials import Outcomes
from dpgrs.methods.chosen_requests import request_of_rows
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.registry import METHODS
from dpgrs.methods.requests import request_grid
from dpgrs.privacy.private_folders import require_closed
from dpgrs.steps.noise import only_request, release_drawn
from dpgrs.steps.screening import screening_data
from dpgrs.types import Bounds


def release_chosen(
    panel,
    outcomes,
    *,
    output,
    events,
    sites,
    ledger,
    identity,
    method,
    terms,
    bounds,
    genotype_clip,
    outcome_bound,
    counts,
    **options,
):
    """Choose variants and release what follows from them, in one: all is reserved before anything is drawn.

    Parameters
    ----------
    panel, outcomes : paths.
    output, events, sites, ledger, identity : as in `dpgrs.steps.noise.release_statistics`.
    method : str, one of `dpgrs.methods.registry.FROM_ROWS`.
    terms : ScreeningTerms; methods that take all variants choose none by them.
    bounds : Bounds, within which rows are read.
    genotype_clip, outcome_bound : float, of these bounds.
    counts : list of int, numbers of outcomes; empty means all.
    **options : see `request_grid`; they must make one request.
    """
    require_closed(panel, outcomes, output, events)
    panel, outcomes = Panel.open(panel), Outcomes.load(outcomes)
    check_same_people(panel, outcomes)
    counts = counts or [len(outcomes.names)]
    grid = request_grid(counts=counts, rows=outcomes.rows, outcome_bound=outcome_bound, **options)
    request, count = only_request(grid)
    frequency = panel.frequency[panel.of_size(request.n_variants)]
    is_tight = Bounds(bounds) == Bounds.TIGHT
    request = request_of_rows(
        request,
        terms if METHODS[method].is_screened else None,
        frequency=frequency if is_tight else None,
        factor=genotype_clip,
    )
    mechanism, names = mechanism_of(method), outcomes.names[:count]
    draw = partial(
        mechanism.draw,
        screening_data(panel, outcomes, request.n_variants),
        request=request,
        outcome_names=names,
        frequency=frequency,
    )
    release_drawn(
        draw,
        mechanism=mechanism,
        request=request,
        names=names,
        output=output,
        events=events,
        sites=sites,
        ledger=ledger,
        identity=identity,
    )
