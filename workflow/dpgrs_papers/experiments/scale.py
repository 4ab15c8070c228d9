"""How time and memory of a study grow with people, variants and outcomes, and what larger ones would take."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.optimize import nnls

from dpgrs.reporting.rendering import Drawing
from dpgrs.reporting.svg import PALETTE
from dpgrs.study.settings import resolve
from dpgrs.study.shape import Shape
from dpgrs_papers.experiments.frame import Experiment, Verdict
from dpgrs_papers.experiments.plots import new_figure
from dpgrs_papers.experiments.scale_replicate import run_replicate, study_of  # noqa: F401

AXES = ("people", "variants", "outcomes")
# By what the seconds of a rule grow, n rows, d variants and l outcomes: exponents of each, beside a start.
ROWS = ((1, 1, 0), (1, 0, 1), (1, 1, 1))
# A variant set has names of people and of variants; each simulated row has a random stream of its own.
VARIANTS, SIMULATED = ((1, 0, 0), (0, 1, 0), (1, 1, 0)), ((1, 0, 0), *ROWS)
TERMS = {
    "sums": {
        "make_variants": VARIANTS,
        "make_outcomes": SIMULATED,
        "compute_statistics": ((0, 2, 0), (1, 2, 0), *ROWS),
        "draw": ((0, 2, 0), (0, 1, 1)),
        "fit_weights": ((0, 3, 0), (0, 2, 1)),
        "evaluate_replicate": ROWS,
    },
    # Of so many variants an outcome, however many there are.
    "choices": {
        "make_variants": VARIANTS,
        "make_outcomes": SIMULATED,
        "choose_exactly": ROWS,
        "draw": ROWS,
        "fit_weights": ((0, 0, 1),),
        "evaluate_replicate": ROWS,
    },
}
# Rules whose jobs are those of shards of people, each of which starts anew.
SHARDED = ("compute_statistics",)
# Seconds that come from a clock, of which less is noise.
LEAST = 0.5


def summarise(rows: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return the least seconds of all replicates, since other work only adds to them, and the most memory."""
    keys = ["kind", "part", *AXES, "rule"]
    # Where a replicate has no rows, its columns have no type.
    rows = rows.astype(dict.fromkeys(AXES, int))
    grouped = rows.groupby(keys, sort=False).agg({"seconds": "min", "used": "max", "asked": "max"})
    return grouped.reset_index()


class Model(NamedTuple):
    """Seconds of a rule: the start of each job, and a constant for each product of sizes."""

    kind: str
    rule: str
    start: float
    constants: np.ndarray

    @classmethod
    def of(cls, table: pd.DataFrame, kind: str, rule: str) -> "Model":
        """Fit the seconds in a table of one rule, least squares of relative errors, no constant below 0."""
        seconds, sizes = table["seconds"].to_numpy(), [table[axis] for axis in AXES]
        design = np.column_stack([_n_starts(rule, *sizes), _products(TERMS[kind][rule], *sizes)])
        (start, *constants), _ = nnls(design / seconds[:, np.newaxis], np.ones(len(table)))
        return cls(kind, rule, start, np.array(constants))

    def seconds(self, *size: Any) -> Any:
        """Return the seconds of people, variants and outcomes, numbers or arrays."""
        return self.starts(*size) + self.growth(*size)

    def starts(self, *size: Any) -> Any:
        """Return the seconds that all jobs take to start."""
        return self.start * _n_starts(self.rule, *size)

    def growth(self, *size: Any) -> Any:
        """Return the seconds beyond these."""
        return _products(TERMS[self.kind][self.rule], *size) @ self.constants


def _n_starts(rule: str, *size: Any) -> np.ndarray:
    """Return the jobs that grow with the size."""
    sizes = np.array(size).T
    if rule not in SHARDED:
        return np.ones(sizes.shape[:-1])
    n_shards = [
        Shape(resolve(study_of(*map(int, study_size)))).n_shards for study_size in sizes.reshape(-1, 3)
    ]
    return np.reshape(n_shards, sizes.shape[:-1])


def _products(powers: Sequence[tuple[int, int, int]], *size: Any) -> np.ndarray:
    sizes = np.array(size, dtype=float).T
    return np.stack([np.prod(sizes ** np.array(power), axis=-1) for power in powers], axis=-1)


def exponents(rule_rows: pd.DataFrame, model: Model) -> dict[str, tuple[float, float]]:
    """Compare how seconds beyond the start grow with the model, a line through the logs along each axis.

    Exponents are measured and modelled; axes along which nothing was varied, or that are too short, have
    none.
    """
    exponent_pairs = {}
    for axis in AXES:
        other_axes = [name for name in AXES if name != axis]
        groups = [
            group.sort_values(axis) for _, group in rule_rows.groupby(other_axes) if group[axis].nunique() > 1
        ]
        if not groups:
            continue
        line = max(groups, key=len)
        sizes = [line[name].to_numpy() for name in AXES]
        both = np.array([line["seconds"] - model.starts(*sizes), model.growth(*sizes)])
        is_long = (both >= LEAST).all(axis=0)
        if np.count_nonzero(is_long) > 1:
            slopes, _ = np.polyfit(np.log(line[axis][is_long]), np.log(both[:, is_long]).T, 1)
            exponent_pairs[axis] = tuple(slopes)
    return exponent_pairs


def compare(table: pd.DataFrame, settings: dict) -> pd.DataFrame:
    """Return, by kind of study and rule, exponents, a size that no model was fitted to, and a biobank's."""
    return pd.DataFrame(list(_numbers(table, settings)))


def _numbers(table: pd.DataFrame, settings: dict) -> Iterator[dict]:
    for (kind, rule), rule_rows in _by_rule(table):
        is_check = rule_rows["part"] == settings["check"][kind]
        model, row = Model.of(rule_rows[~is_check], kind, rule), {"study": kind, "rule": rule}
        fitted = exponents(rule_rows[~is_check], model)
        for axis in AXES:
            row[f"exponent of {axis}"] = "{:.2f} ({:.2f})".format(*fitted[axis]) if axis in fitted else ""
        for check_row in rule_rows[is_check].itertuples():
            size = [getattr(check_row, axis) for axis in AXES]
            row |= {
                "size": _in_words(size),
                "s": f"{check_row.seconds:.0f}",
                "modelled": f"{model.seconds(*size):.0f}",
            }
            row |= {"MB": f"{check_row.used:.0f}", "asked": f"{check_row.asked:.0f}"}
        target = settings["target"][kind]
        row |= {
            "biobank": _in_words(target),
            "biobank, s": f"{Model.of(rule_rows, kind, rule).seconds(*target):.0f}",
        }
        yield row


def _by_rule(table: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield kind and rule, and the rows of it, in the order of a study."""
    for kind, powers_by_rule in TERMS.items():
        for rule in powers_by_rule:
            rule_rows = table[(table["kind"] == kind) & (table["rule"] == rule)]
            if len(rule_rows):
                yield (kind, rule), rule_rows


def _in_words(size: Sequence[int]) -> str:
    return " x ".join(f"{number:,}" for number in size)


def draw(table: pd.DataFrame, settings: dict) -> dict[str, Drawing]:
    """Draw seconds against each axis, the others as in the smallest size that varies it, for each kind."""
    return {
        f"scale_{kind}": Drawing(
            _figure(kind_rows, TERMS[kind]),
            f"Seconds of a core against people, variants and outcomes, of studies of {kind}.",
        )
        for kind, kind_rows in table.groupby("kind", sort=False)
    }


def _figure(table: pd.DataFrame, rules: Sequence[str]) -> Figure:
    figure, (axes,) = new_figure(600, 190, left=44, right=10, top=20, bottom=74, ncols=3, sharey=True)
    for axis, name in zip(axes, AXES, strict=True):
        other_axes = [axis_name for axis_name in AXES if axis_name != name]
        for colour, rule in zip(PALETTE, rules, strict=False):
            rule_rows = table[table["rule"] == rule]
            groups = [
                group.sort_values(name)
                for _, group in rule_rows.groupby(other_axes)
                if group[name].nunique() > 1
            ]
            if groups:
                line = max(groups, key=len)
                axis.plot(line[name], line["seconds"], color=colour, marker="o", markersize=3, label=rule)
        axis.set(xscale="log", yscale="log", xlabel=name)
        axis.set_xticks(sorted({*axis.lines[0].get_xdata()}) if axis.lines else [])
        axis.minorticks_off()
    axes[0].set_ylabel("seconds of a core")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=3)
    return figure


def judge(table: pd.DataFrame, settings: dict) -> tuple[Verdict, str]:
    """Say how far the model is from the sizes that it was not fitted to, and what took too much memory."""
    ratios = []
    for (kind, rule), rule_rows in _by_rule(table):
        is_check = rule_rows["part"] == settings["check"][kind]
        for check_row in rule_rows[is_check].itertuples():
            model = Model.of(rule_rows[~is_check], kind, rule)
            ratios.append(model.seconds(*(getattr(check_row, axis) for axis in AXES)) / check_row.seconds)
    lacking = int((table["used"] > table["asked"]).sum())
    sentence = f"{lacking} of {len(table)} rules took more memory than they ask for"
    if ratios:
        sentence += (
            f"; of the largest studies the models have {min(ratios):.2f} to {max(ratios):.2f} of the seconds"
        )
    return Verdict.BEYOND, f"{sentence}."


EXPERIMENT = Experiment(
    paper="Beyond the papers",
    shows="time and memory of a study",
    choices=(
        "Whole studies by the workflow's own rules, a job at a time: haplotypes, tight bounds, simulated "
        "outcomes; sums: ridge, ReuseCov and BLUP; choices: k-blup, of any number of variants. Of more "
        "than 500 people, copies of these. Memory is what Snakemake's benchmarks see of it.",
        "In brackets what the model has: constants, none below 0, of the products of people, variants and "
        "outcomes by which a rule must grow. Exponents are of seconds beyond the start that the model has.",
    ),
)
