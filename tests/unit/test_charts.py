import re
import xml.etree.ElementTree as ET
from base64 import b64decode

import numpy as np
import pytest

from dpgrs.public_random import generator
from dpgrs.reporting.charts import FEW_BARS, Axes, Picture, mark, round_ticks
from dpgrs.reporting.svg import MARKERS
from svg_drawings import NAME, numbers, paths


@pytest.mark.parametrize(
    ("ends", "count", "labels"),
    [
        ((0, 0.76), 4, ["0.0", "0.2", "0.4", "0.6"]),
        ((-4, 4), 3, ["−2.5", "0.0", "2.5"]),
        ((0, 275), 4, ["0", "100", "200"]),
        ((0, 1), 5, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        ((0, 45_000), 4, ["0", "10,000", "20,000", "30,000", "40,000"]),
        ((-4e-6, 4e-6), 3, ["−2.5e−06", "0", "2.5e−06"]),
    ],
)
def test_round_ticks__known_scales(ends, count, labels):
    assert [label for _, label in round_ticks(*ends, count)] == labels


def test_round_ticks__two_at_least_and_no_more_than_asked_for_at_any_scale():
    random = generator(7, "ticks")
    for share, width, count in zip(
        random.random(2000), 10.0 ** random.uniform(-6, 7, 2000), random.integers(3, 8, 2000), strict=True
    ):
        low = -share * width
        ticks = round_ticks(low, low + width, count)
        values = np.array([value for value, _ in ticks])
        assert 2 <= len(values) <= count + 1
        assert low - 1e-8 * width <= values[0] < values[-1] <= low + (1 + 1e-8) * width
        # Steps are alike, and of one digit or 25.
        step = float(f"{values[1] - values[0]:.6g}")
        np.testing.assert_allclose(np.diff(values), step, rtol=1e-5)
        assert f"{step:.3e}"[:4] in {"1.00", "2.00", "2.50", "5.00"}
        shown = [float(label.replace("−", "-").replace(",", "")) for _, label in ticks]
        np.testing.assert_allclose(shown, values, atol=1e-9 * step)


def axes_of(picture):
    return Axes(picture, 10, 20, 110, 70, x=(-1, 1), y=(5, 0))


def test_axes__values_at_points():
    axes = axes_of(Picture(200, 100))

    assert axes.across([-1, 0, 1]).tolist() == [10, 60, 110]
    assert axes.down([5, 0, 2.5]).tolist() == [70, 20, 45]


def test_axes__lines_are_one_short_path_without_what_cannot_be_seen():
    picture = Picture(200, 100)
    axes_of(picture).uprights(
        np.array([0, 0.5, 0.25, 1]), 0, np.array([5, 0.001, np.nan, 2.5]), color="red", width=2
    )
    axes_of(picture).uprights(np.array([0.0]), 0, np.zeros(1), color="blue", width=2)

    assert '<path d="M60 20V70M110 20V45" stroke="red" stroke-width="2"/>' in picture.svg()
    assert picture.svg().count("<path") == 1


def test_axes__many_bars_are_heights_that_the_script_of_pages_draws():
    picture, random = Picture(200, 100), generator(7, "bars")
    x, heights = np.linspace(-1, 1, 300), random.choice([-1, 1], 300) * random.uniform(0.1, 3, 300)
    axes_of(picture).bars(x, heights, color="red", width=2, low=2, x_name="variants")

    (whole,) = ET.fromstring(picture.svg()).iter(NAME + "path")
    (packed,) = ET.fromstring(picture.svg(is_packed=True)).iter(NAME + "path")

    assert packed.get("d") is None
    assert packed.get("data-places") == "variants"
    assert all(one.get("stroke") == "red" and one.get("stroke-width") == "2" for one in (whole, packed))
    start, end, low, reach = map(float, packed.get("data-box").split())
    # Axes show x from -1 to 1, places go from 0 to 1.
    assert (start, end) == (60, 110)
    shares = np.frombuffer(b64decode(packed.get("data-bars")), "<i2") / (2**15 - 1)
    assert np.abs(shares).max() == 1
    drawn = numbers(whole.get("d"), 3)
    np.testing.assert_allclose(drawn[:, 1], low)
    np.testing.assert_allclose(drawn[:, 2], low - reach * shares, atol=0.06)


@pytest.mark.parametrize(("n_bars", "places"), [(FEW_BARS - 1, "variants"), (FEW_BARS, None)])
def test_axes__few_bars_and_those_at_places_of_their_own_are_drawn(n_bars, places):
    picture = Picture(200, 100)
    x = np.linspace(0, 1, 300)
    axes_of(picture).bars(x, np.where(np.arange(300) < n_bars, 3.0, 0.0), color="red", width=2, x_name=places)

    assert picture.svg(is_packed=True) == picture.svg()
    (path,) = paths(picture.svg(), stroke="red")
    assert numbers(path, 3)[:, 1:].tolist() == [[20, 50]] * n_bars


def test_axes__marks_of_points_that_are_there():
    picture = Picture(200, 100)

    axes_of(picture).marks(np.array([0, np.nan]), np.array([0, 0]), marker="s", size=4, fill="red")

    assert picture.svg().count("<path") == 1
    assert '<path d="M58.00 18.00 62.00 18.00 62.00 22.00 58.00 22.00z" fill="red"/>' in picture.svg()


def test_mark__all_markers_lie_around_their_point():
    paths = {marker: mark(marker, 50, 50, 10) for marker in MARKERS}
    assert len(set(paths.values())) == len(MARKERS)
    assert paths.pop("o") == "M45 50a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z"
    for path in paths.values():
        corners = np.array(re.findall(r"[\d.]+", path), dtype=float).reshape(-1, 2) - 50
        np.testing.assert_allclose(corners.mean(axis=0), 0, atol=0.01)
        assert 4.9 < np.abs(corners).max() < 7.1


def test_picture__words_are_escaped_and_stand_at_the_middle_of_their_line():
    picture = Picture(200, 100)

    picture.text(1, 2, "<a> & b", fill="red")

    assert '<text x="1" y="4.8" fill="red">&lt;a&gt; &amp; b</text>' in picture.svg()
