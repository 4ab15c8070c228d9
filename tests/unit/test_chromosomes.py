import pytest

from dpgrs.io.chromosomes import AUTOSOMES, accession_build, chromosome_name, part_of_x

VERSIONS_OF_GRCH38 = {
    **{"1": 11, "2": 12, "3": 12, "4": 12, "5": 10, "6": 12, "7": 14, "8": 11, "9": 12, "10": 11, "11": 10},
    **{"12": 12, "13": 11, "14": 9, "15": 10, "16": 10, "17": 11, "18": 10, "19": 10, "20": 11, "21": 9},
    **{"22": 11, "X": 11, "Y": 10},
}


@pytest.mark.parametrize("name", [*AUTOSOMES, "X", "Y", "MT"])
@pytest.mark.parametrize("form", ["{}", "chr{}", "Chr{}", "CHR{}", "0{}", "chr0{}"])
def test_chromosome_name__in_every_spelling(name, form):
    assert chromosome_name(form.format(name)) == name
    assert chromosome_name(form.format(name).lower()) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *(("23", "X"), ("24", "Y"), ("25", "X"), ("26", "MT"), ("chr23", "X"), ("chrM", "MT"), ("m", "MT")),
        *(("XY", "X"), ("PAR1", "X"), ("chrPAR2", "X"), ("NC_012920.1", "MT"), ("NC_000024.10", "Y")),
    ],
)
def test_chromosome_name__of_synonyms(text, name):
    assert chromosome_name(text) == name


@pytest.mark.parametrize(
    "text", ["0", "27", "", "1_random", "NC_000025.1", "NC_000099.1", "HLA-A", "X1", "NC_060925.1"]
)
def test_chromosome_name__leaves_what_is_none(text):
    assert chromosome_name(text) == text
    assert part_of_x(text) is None


def test_part_of_x():
    assert [part_of_x(text) for text in ("XY", "25", "chrPAR1", "par2", "X", "23")] == [
        *("XY", "XY", "PAR1", "PAR2", None, None)
    ]


@pytest.mark.parametrize(("name", "version"), VERSIONS_OF_GRCH38.items())
def test_accession_build__by_its_version(name, version):
    number = {"X": "23", "Y": "24"}.get(name, name)
    accession = f"NC_{int(number):06}"
    assert chromosome_name(f"{accession}.{version}") == name
    assert accession_build(f"{accession}.{version}") == "GRCh38"
    assert accession_build(f"{accession}.{version - 1}") == "GRCh37"
    assert accession_build(f"{accession}.{version - 2}") is None
