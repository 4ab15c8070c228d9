"""The methods of this package, a row each, as `entry_points.txt` names them, for benchmarks.

No other module imports this one: dpgrs loads it as it reads its own rows.
"""

from dpgrs.statement.methods import CHOSEN_BLUP, LARGEST_FACTORED, NOT_PRIVATE, Method
from dpgrs.types import FittedFrom, Neighbours


def _descent_in_words(regression: dict) -> dict[str, str]:
    """Say how DP-SGD descends."""
    sgd = regression["sgd"]
    words = f"{sgd['steps']} steps, each of a share of {sgd['sampling_rate']:g}, learning rate "
    words += f"{sgd['learning_rate']:g}"
    clip = sgd["clip"]
    return {
        "Descent of DP-SGD": words if clip is None else f"{words}, gradients of a row clipped at {clip:g}"
    }


LARGEST_SEPARATE = 2**28  # entries of all that is kept for each outcome
# Fields that rows share.
OWN_SUMS = {"fitted_from": FittedFrom.OWN_SUMS, "pools": False}
ROWS = {"fitted_from": FittedFrom.ROWS, "pools": False}
LEAST_SQUARES = NOT_PRIVATE | {"fitted_from": FittedFrom.CHOSEN}
BLUP = CHOSEN_BLUP | {"pools": False}
BOOSTED = ROWS | {"most_columns": LARGEST_FACTORED}
TUKEY = ROWS | {
    "reads_count": True,
    "has_normal_noise": False,
    "bounds": "The Tukey mechanism needs no bounds.",
}
NAIVE = Method(
    label="Naive",
    look=("#e69f00", "*"),
    code="dpgrs_papers.methods.benchmark_mechanisms:Naive",
    reads=("lambda",),
    takes_covariates=True,
    most_entries=LARGEST_SEPARATE,
    **OWN_SUMS,
)
DP_SGD = Method(
    label="DP-SGD",
    look=("#882255", "X"),
    code="dpgrs_papers.methods.benchmark_mechanisms:DpSgd",
    neighbours=Neighbours.ADD_REMOVE,
    reads=("sgd",),
    facts=_descent_in_words,
    accounting="DP-SGD, which samples rows, is accounted by privacy-loss distributions (exact accounting)"
    " or by Rényi divergences (paper’s accounting).",
    bounds="DP-SGD stays within worst-case bounds.",
    **OWN_SUMS,
)
SKETCH = Method(
    label="ReuseCovSketch",
    look=("#6b4c1e", "P"),
    code="dpgrs_papers.methods.benchmark_mechanisms:Sketch",
    neighbours=Neighbours.REPLACE_ONE,
    accounting="ReuseCovSketch gives a part of ε and δ to each of its two statistics under both; its Gram"
    " matrix is of a sample, which would have to stay secret.",
    reads=("lambda",),
    **OWN_SUMS,
)
BAS = Method(
    label="BAS", look=("#332288", ">"), code="dpgrs_papers.methods.row_mechanisms:Boosted", **BOOSTED
)
TUKEY_OF_ALL = Method(
    label="Tukey", look=("#f00048", (4, 1, 0)), code="dpgrs_papers.methods.row_mechanisms:Tukey", **TUKEY
)
LASSO = Method(label="Lasso + OLS", selector="lasso", **LEAST_SQUARES)
K_BAS = Method(
    label="Kendall + BAS",
    look=("#9060f0", "8"),
    selector="kendall",
    code="dpgrs_papers.methods.row_mechanisms:ChosenBoosted",
    **BOOSTED,
)
K_TUKEY = Method(
    label="Kendall + Tukey",
    look=("#300048", "H"),
    selector="kendall",
    code="dpgrs_papers.methods.row_mechanisms:ChosenTukey",
    **TUKEY,
)
L_OLS = Method(label="Two-stage + OLS", selector="two-stage", **LEAST_SQUARES)
L_BLUP = Method(label="Two-stage + BLUP", look=("#00c878", "<"), selector="two-stage", **BLUP)
L_BAS = Method(
    label="SubLasso + BAS",
    look=("#008060", (3, 1, 30)),
    selector="sublasso",
    code="dpgrs_papers.methods.row_mechanisms:ChosenBoosted",
    **BOOSTED,
)
L_TUKEY = Method(
    label="SubLasso + Tukey",
    look=("#80c000", (4, 1, 45)),
    selector="sublasso",
    code="dpgrs_papers.methods.row_mechanisms:ChosenTukey",
    **TUKEY,
)
S_OLS = Method(label="DP-SIS + OLS", selector="sis", **LEAST_SQUARES)
S_BLUP = Method(label="DP-SIS + BLUP", look=("#480000", "v"), selector="sis", **BLUP)
