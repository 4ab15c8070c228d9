"""Pages of outcomes against matplotlib, timed by `pytest --benchmark-enable`.

Matplotlib draws one of the three figures of a page, from axes that it has made before. Both sides use one
thread and take turns, so that a busy machine slows both. That the figures are the same is always compared;
the ratio is asserted only when benchmarks are enabled.
"""

import io
import re
import time

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from dpgrs.reporting.outcome_figures import WeightsFigure
from dpgrs.reporting.pages import outcome_writer
from report_data import make_report_data
from svg_drawings import numbers, paths

AIM = 3
N_PAGES, N_VARIANTS = 100, 1000
N_ROUNDS = 3
BARS = {"color": "#0072b2", "linewidth": 0.8}


def matplotlib_strips(x, n_strips):
    """Return a function that draws (n_strips, n) weights as strips, as SVG."""
    height = 62 * n_strips + 40
    figure = Figure(figsize=(700 / 72, height / 72))
    figure.subplots_adjust(46 / 700, 28 / height, 1 - 6 / 700, 1 - 16 / height)
    axes = figure.subplots(n_strips, squeeze=False, sharex=True, gridspec_kw={"hspace": 0.42})
    lines = [axis.plot([], [], **BARS)[0] for axis in axes[:, 0]]
    nothing, zero = np.full(len(x), np.nan), np.zeros(len(x))

    def draw(weights):
        for line, heights in zip(lines, weights, strict=True):
            line.set_data(
                np.column_stack([x, x, nothing]).ravel(), np.column_stack([zero, heights, nothing]).ravel()
            )
            line.axes.set(xlim=(-0.004, 1.004), ylim=np.array([-1.08, 1.08]) * np.abs(heights).max())
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg")
        return buffer.getvalue()

    return draw


def test_pages__faster_than_one_of_their_figures_by_matplotlib(tmp_path, request, capsys):
    data = make_report_data(n_outcomes=N_PAGES, n_variants=N_VARIANTS, replicates=3)
    weights = np.stack([fit.weights for fit in data.weights[:5]])
    ours = WeightsFigure(data.variants, labels=list("abcde"), colors=[BARS["color"]] * 5)
    theirs = matplotlib_strips(ours.x, 5)
    with matplotlib.rc_context({"path.simplify": False}):
        drawn = theirs(weights[:, 0])
    found = [d for d in re.findall(r'<path d="([^"]*)"', drawn) if d.count("M") >= N_VARIANTS]
    bars = paths(ours.draw(weights[:, 0], [""] * 5).svg(), stroke=BARS["color"])
    for one, other in zip(found, bars, strict=True):
        # Start and end of every bar; the last is written twice.
        ends = numbers(one, 2)[: 2 * N_VARIANTS].reshape(-1, 4)[:, [0, 1, 3]]
        own = numbers(other, 3)
        np.testing.assert_allclose(
            [own.min(axis=0), own.max(axis=0)], [ends.min(axis=0), ends.max(axis=0)], atol=0.1
        )
        assert np.abs(own[:, 1] - own[:, 2]).sum() == pytest.approx(
            np.abs(ends[:, 1] - ends[:, 2]).sum(), rel=0.01
        )
    if not request.config.getoption("--benchmark-enable"):
        return

    def draw_theirs():
        for outcome in range(N_PAGES):
            theirs(weights[:, outcome])

    def write_ours():
        outcome_writer(data)(1, N_PAGES, tmp_path)

    def seconds(work):
        start = time.process_time()
        work()
        return (time.process_time() - start) / N_PAGES

    timings = [(seconds(draw_theirs), seconds(write_ours)) for _ in range(N_ROUNDS)]
    a_figure, a_page = np.array(timings).min(axis=0)
    megabytes = sum(path.stat().st_size for path in tmp_path.glob("*.html")) / N_PAGES / 1e3
    with capsys.disabled():
        print(f"\na page: {a_figure:.4f} s / {a_page:.4f} s = {a_figure / a_page:.1f}")
        print(f"1,000 pages: {1000 * a_page:.1f} s of a core, {megabytes:.0f} MB")
    assert a_figure / a_page >= AIM
