"""Genetic maps: which tables are ones."""

import pytest

from dpgrs.io.tables.genetic_maps import read_map
from refused import refused


def test_read_map__of_hapmap_and_of_plain_names(tmp_path):
    (tmp_path / "plain").write_text("position\tcM\n100\t0\n200\t0.5\n")
    (tmp_path / "hapmap").write_text(
        "Chromosome\tPosition(bp)\tRate(cM/Mb)\tMap(cM)\nchr1 100 1 0\nchr1 200 1 .5\n"
    )
    for name in ("plain", "hapmap"):
        position, morgans = read_map(tmp_path / name)
        assert (position.tolist(), morgans.tolist()) == ([100, 200], [0, 0.005])


@pytest.mark.parametrize(
    "text",
    ["", "position cM\n1 0\n", "position cM\n2 0\n1 1\n", "a b\n1 2\n2 3\n", "position cM\n1 1\n2 x\n"],
)
def test_read_map__raise_on_what_is_none(tmp_path, text):
    (tmp_path / "map").write_text(text)
    with refused("not-a-genetic-map", "`position`", "`cM`"):
        read_map(tmp_path / "map")
