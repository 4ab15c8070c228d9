"""The methods of this package, a row each, as `entry_points.txt` names them, for benchmarks.

No other module imports this one: dpgrs loads it as it reads its own rows.
"""

from dpgrs.methods.registry import CHOSEN_BLUP, LARGEST_FACTORED, NOT_PRIVATE, SUMS, Method
from dpgrs.types import Neighbours


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
# What rows share.
OWN = {"fits_each_outcome": True}
LEAST_SQUARES = NOT_PRIVATE | OWN
BASELINES = "dpgrs_papers.methods.audits.baselines:baseline_cases"
BOOSTED = OWN | {
    "audits": "dpgrs_papers.methods.audits.boosted:boosted_cases",
    "of_rows": "dpgrs_papers.methods.row_fits:BOOSTED",
    "most_columns": LARGEST_FACTORED,
}
TUKEY = OWN | {
    "audits": "dpgrs_papers.methods.audits.tukey:tukey_cases",
    "of_rows": "dpgrs_papers.methods.row_fits:TUKEY",
    "reads_count": True,
    "has_normal_noise": False,
    "bounds": "The Tukey mechanism needs no bounds.",
}
CHOSEN = "dpgrs_papers.methods.audits.chosen:chosen_cases"
NAIVE = Method(
    label="Naive",
    look=("#e69f00", "*"),
    mechanism="dpgrs_papers.methods.naive:SeparateFits",
    audits=BASELINES,
    mechanism_of_benchmark="dpgrs_papers.methods.benchmark_mechanisms:FittedSeparately",
    reads=("lambda",),
    takes_covariates=True,
    most_entries=LARGEST_SEPARATE,
    audited=(*SUMS, "private_separate_statistics"),
    steps="dpgrs_papers.methods.naive:STEPS",
    **OWN,
)
DP_SGD = Method(
    label="DP-SGD",
    look=("#882255", "X"),
    neighbours=Neighbours.ADD_REMOVE,
    mechanism="dpgrs_papers.methods.benchmark_mechanisms:SgdFits",
    reads=("sgd",),
    reads_fractions=True,
    facts=_descent_in_words,
    accounting="DP-SGD, which samples rows, is accounted by privacy-loss distributions (exact accounting)"
    " or by Rényi divergences (paper’s accounting).",
    bounds="DP-SGD stays within worst-case bounds.",
    audits=BASELINES,
    **OWN,
)
SKETCH = Method(
    label="ReuseCovSketch",
    look=("#6b4c1e", "P"),
    neighbours=Neighbours.REPLACE_ONE,
    mechanism="dpgrs_papers.methods.benchmark_mechanisms:SketchedStatistics",
    accounting="ReuseCovSketch gives a part of ε and δ to each of its two statistics under both; its Gram"
    " matrix is of a sample, which would have to stay secret.",
    reads_fractions=True,
    audits=BASELINES,
    reads=("lambda",),
    **OWN,
)
BAS = Method(
    label="BAS", look=("#332288", ">"), mechanism="dpgrs_papers.methods.row_mechanisms:BoostedFits", **BOOSTED
)
TUKEY_OF_ALL = Method(
    label="Tukey",
    look=("#f00048", (4, 1, 0)),
    mechanism="dpgrs_papers.methods.row_mechanisms:TukeyFits",
    **TUKEY,
)
LASSO = Method(label="Lasso + OLS", selector="lasso", **LEAST_SQUARES)
K_BAS = Method(
    label="Kendall + BAS",
    look=("#9060f0", "8"),
    selector="kendall",
    mechanism="dpgrs_papers.methods.row_mechanisms:ChosenBoostedFits",
    **BOOSTED,
)
K_TUKEY = Method(
    label="Kendall + Tukey",
    look=("#300048", "H"),
    selector="kendall",
    mechanism="dpgrs_papers.methods.row_mechanisms:ChosenTukeyFits",
    **TUKEY,
)
L_OLS = Method(label="Two-stage + OLS", selector="two-stage", **LEAST_SQUARES)
L_BLUP = Method(label="Two-stage + BLUP", look=("#00c878", "<"), selector="two-stage", **CHOSEN_BLUP | OWN)
L_BAS = Method(
    label="SubLasso + BAS",
    look=("#008060", (3, 1, 30)),
    selector="sublasso",
    mechanism="dpgrs_papers.methods.row_mechanisms:ChosenBoostedFits",
    **BOOSTED,
)
L_TUKEY = Method(
    label="SubLasso + Tukey",
    look=("#80c000", (4, 1, 45)),
    selector="sublasso",
    mechanism="dpgrs_papers.methods.row_mechanisms:ChosenTukeyFits",
    **TUKEY,
)
S_OLS = Method(label="DP-SIS + OLS", selector="sis", **LEAST_SQUARES)
S_BLUP = Method(
    label="DP-SIS + BLUP", look=("#480000", "v"), selector="sis", **CHOSEN_BLUP | OWN | {"audits": CHOSEN}
)
