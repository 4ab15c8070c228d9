"""PRIMO paper, figures 3 and 4, on real haplotypes: log MSE ratio against d and against l."""

from dpgrs.experiments import primo_haplotypes
from dpgrs.experiments.frame import Experiment, Verdict
from dpgrs.experiments.primo_fits import best_of_path
from dpgrs.experiments.primo_tables import by_line, draw_ratios, judge_ratios, paper_ratios


def summarise(rows, settings):
    """Return the log MSE ratio of each method, at the best penalty of its path and by the evidence."""
    return best_of_path(rows)


def compare(table, settings):
    """Return the log MSE ratio by d and l; the paper's numbers are lost."""
    return by_line(table, {"n_variants": "d = {}", "n_outcomes": "l = {:,}"}, value="log_ratio")


def draw(table, settings):
    """Draw the log MSE ratio against both."""
    return draw_ratios(table, "ratio")


def judge(table, settings):
    """Hold that Gauss is ahead of projection and its ratio grows, as the paper says of large n."""
    (part,) = set(table["part"])
    said, is_told = judge_ratios(*(ratio[part] for ratio in paper_ratios(table)))
    reason = f"By the paper's terms, each at its best lambda, at the real n: {said}."
    return (Verdict.REPRODUCED if is_told else Verdict.WITH_DIFFERENCE), reason


EXPERIMENT = Experiment(
    paper="PRIMO (arXiv 2303.04195)",
    shows="Figures 3 and 4 on haplotypes: log MSE ratio against d and l",
    run_trial=primo_haplotypes.run_trial,
    choices=(
        *primo_haplotypes.CHOICES,
        "The paper has up to a million samples of a generative network that we have not; the same on many "
        "rows of normal data is `primo_gaussian`. The symbol of an axis is lost, so both d and l are shown. "
        "The ratio is to ridge regression without privacy at its own best lambda.",
    ),
)
