"""The methods' rows, which `dpgrs release verify` reads, too: no code that draws or fits."""

from dpgrs.statement.draws import CHOICE, REUSECOV, SEPARATE, Draws, Scope
from dpgrs.statement.methods import CHOSEN_BLUP, Method
from dpgrs.types import Exactness, FittedFrom

MADE_UP = Method(
    label="Made-up",
    look=("#114477", "v"),
    code="made_up:MadeUp",
    fitted_from=FittedFrom.OWN_SUMS,
    exactness=Exactness.EXACT,
    words=("Ridge regression with twice the lambda.",),
    draws=REUSECOV,
    reads=("lambda",),
    takes_covariates=True,
)
CHOSEN = Method(
    label="Made-up + BLUP",
    look=("#774411", "<"),
    exactness=Exactness.EXACT,
    selector="made-up",
    draws=(Draws("made up scores", Scope.EACH, CHOICE), *SEPARATE),
    **CHOSEN_BLUP,
)
