import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.io.files import save_arrays
from dpgrs.io.replicates import Statistics, load_labelled, save_labelled
from refused import refused


def test_statistics__gram_of_a_smaller_variant_set_keeps_the_intercept_last(tmp_path):
    gram = np.arange(16).reshape(4, 4)
    columns = {2: np.array([0, 2]), 3: np.arange(3)}
    cross = {3: np.ones((1, 4), dtype=int)}
    Statistics(gram, cross, 7, np.array([6]), columns, "people", 3.0).save(tmp_path / "s.npz")
    loaded = Statistics.load(tmp_path / "s.npz")
    assert (loaded.n_rows, loaded.rows, loaded.outcome_bound) == (7, "people", 3.0)
    with refused("size-not-in-statistics", error=UsageError):
        loaded.gram_of_size(4)
    np.testing.assert_array_equal(loaded.gram_of_size(3), gram)
    np.testing.assert_array_equal(loaded.gram_of_size(2), gram[np.ix_([0, 2, 3], [0, 2, 3])])


def test_load__raise_on_another_kind_of_file(tmp_path):
    save_labelled(tmp_path / "items.npz", [])
    with refused("not-statistics"):
        Statistics.load(tmp_path / "items.npz")


@pytest.mark.parametrize(
    ("arrays", "fault"),
    [
        ({"labels": np.array("[{")}, "labelled-arrays-form"),
        ({"labels": np.array("[]"), "a/0": np.arange(2)}, "labelled-arrays-form"),
        ({"labels": np.array("[{}]"), "w/7": np.zeros(2)}, "labelled-arrays-form"),
        ({"a": np.zeros(2)}, "labels-missing"),
    ],
)
def test_load_labelled__raise_on_other_arrays(tmp_path, arrays, fault):
    save_arrays(tmp_path / "a.npz", arrays)
    with refused(fault):
        load_labelled(tmp_path / "a.npz")


def test_save_labelled__round_trip(tmp_path):
    items = [
        ({"method": "ols"}, {"w": np.arange(3), "m": np.ones(2)}),
        ({"method": "ridge"}, {"w": np.zeros(1)}),
    ]
    save_labelled(tmp_path / "items.npz", items)
    loaded = load_labelled(tmp_path / "items.npz")
    assert [label for label, _ in loaded] == [label for label, _ in items]
    for (_, expected), (_, arrays) in zip(items, loaded, strict=True):
        assert list(arrays) == list(expected)
        for name, array in expected.items():
            np.testing.assert_array_equal(arrays[name], array)


def test_labelled__reads_what_is_taken_alone(tmp_path):
    """Pairs are written one after another; a damaged array is found when its own pair is read."""
    written = []

    def items():
        for number in range(3):
            written.append(number)
            yield {"number": number}, {"w": np.full(50, number), "v": np.full((2, 2), -number)}

    save_labelled(tmp_path / "l.npz", items())
    assert written == [0, 1, 2]
    found = load_labelled(tmp_path / "l.npz")
    assert found.labels == [{"number": 0}, {"number": 1}, {"number": 2}]
    (wanted,) = found.of(lambda label: label["number"] == 1)
    np.testing.assert_array_equal(wanted[1]["w"], np.full(50, 1))
    assert [label["number"] for label, _ in found[1:]] == [1, 2]
    content = (tmp_path / "l.npz").read_bytes()
    (tmp_path / "l.npz").write_bytes(content.replace(np.full(50, 2).tobytes(), np.full(50, 3).tobytes()))
    assert found[0][1].keys() == {"w", "v"}
    with refused("file-not-as-written"):
        found[-1]
