"""The settings of methods of this package, in sections of dpgrs, as `entry_points.txt` names them."""

from dataclasses import dataclass

from dpgrs.config import privacy
from dpgrs.config.setting import Section, setting
from dpgrs_papers.types import Scaling


@dataclass(frozen=True)
class Descent(Section):
    """Public constants of `dp-sgd`, not to be tuned on the data."""

    steps: int = setting(
        100,
        "Number of noisy steps of `dp-sgd`. More steps help with few outcomes; with many "
        "outcomes their noise prevails.",
        example=400,
        minimum=1,
        maximum=100_000,
    )
    sampling_rate: float = setting(
        0.1, "Probability that a unit is in a step of `dp-sgd`.", example=0.5, above=0, maximum=1
    )
    clip: float | None = setting(
        None,
        "Largest norm of the gradient of a row for an outcome in `dp-sgd`. null takes the gradient of a row "
        "of largest norm with a residual of 1.",
        example=2,
        minimum=0.0001,
        maximum=1000,
    )
    learning_rate: float = setting(
        1,
        "Step length of `dp-sgd` in units of 1 over the largest squared norm of a row. Below 2 the steps "
        "would converge without noise.",
        example=4,
        minimum=1e-6,
        maximum=1e9,
    )


@dataclass(frozen=True)
class Regression(privacy.Regression):
    """Its last keys are constants of `tukey`, `reusecov-sketch` and `dp-sgd`."""

    rows_per_coefficient: float = setting(
        2,
        "Mean number of rows for each coefficient of a model of `tukey`, `k-tukey` and `l-tukey`.",
        example=1,
        above=0,
    )
    sketch_share: float = setting(
        0.5,
        "Share of the units whose genotypes are in the X'X of `reusecov-sketch`, a secret sample.",
        example=0.1,
        above=0,
        maximum=1,
    )
    sgd: Descent


@dataclass(frozen=True)
class Screening(privacy.Screening):
    """The same holds for `lasso` and methods whose names begin with `l-` (votes) or `s-` (DP-SIS)."""

    scaling: Scaling = setting(
        "public",
        "What `s-blup` scales the scores of variants by: public bounds, or the data's own mean and maximum "
        "as in the DP-SIS paper. The latter is not private, is marked as not private in all results, and is "
        "only for benchmarks.",
        example="paper",
        benchmarks_only="The data's own mean and maximum are not private: leave it out.",
    )
