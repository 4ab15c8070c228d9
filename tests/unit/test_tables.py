import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.sites import read_sites
from dpgrs.io.tables import tables
from dpgrs.io.tables.genetic_maps import read_map
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.io.tables.outcome_scales import read_scales
from dpgrs.io.tables.people import find_people, read_consent, read_ids, read_pairs
from dpgrs.io.tables.phenotypes import read_outcomes
from dpgrs.io.tables.real_tables import read_real_table
from dpgrs.io.tables.table_samples import outcome_people
from dpgrs.io.tables.tables import describe_mismatch, header_of, read_populations, rows_of
from dpgrs.study.traits import read_traits
from dpgrs_papers.tabular.feature_tables import read_feature_table
from refused import refused


def test_describe_mismatch__none_where_one_person_is_common():
    assert describe_mismatch(["a", "b"], ["b", "c"], shows_ids=True) is None


def test_describe_mismatch__three_ids_of_each_side_or_their_patterns():
    sides = [f"HG{i:05d}" for i in range(5)], ["x-1", "y-2", "é-33", "z"]
    assert "HG00000, HG00001, HG00002 where those have x-1, y-2, é-33." in describe_mismatch(
        *sides, shows_ids=True
    )
    assert "got AA99999 where those have A-9, A-99, A (patterns: A is a letter" in describe_mismatch(
        *sides, shows_ids=False
    )


@pytest.mark.parametrize(
    "text",
    [
        "sample\tpop\tsuper_pop\tgender\t\t\nHG1\tGBR\tEUR\tmale\nHG2\tYRI\tAFR\tfemale\n",
        "sample\tpop\tsuper_pop\nHG1\tGBR\tEUR\t\t\nHG2\tYRI\tAFR\n",
        "population,super_population,sample\nGBR,EUR,HG1\nYRI,AFR,HG2\n",
        "#IID Pop Super_Pop\nHG1 GBR EUR\nHG2 YRI AFR\n",
    ],
)
def test_read_populations__same_labels_from_every_dialect(write, text):
    table = read_populations(write(text))
    assert table.index.tolist() == ["HG1", "HG2"]
    assert table["population"].tolist() == ["GBR", "YRI"]
    assert table["super_population"].tolist() == ["EUR", "AFR"]


def test_read_populations__super_population_is_optional(write):
    table = read_populations(write("sample\tpopulation\nHG1\tGBR\n"))
    assert table.loc["HG1"].to_dict() == {"population": "GBR", "super_population": ""}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", ("table-empty",)),
        ("sample\tgroup\nHG1\tGBR\n", ("population-columns-missing", "`sample`", "`population`")),
        ("who\tpop\nHG1\tGBR\n", ("population-columns-missing", "`sample`", "`population`")),
        ("sample\tpop\n", ("table-without-people",)),
        ("sample\tpop\nHG1\tGBR\nHG1\tYRI\n", ("person-twice", "line 3")),
        ("sample\tpop\nHG1\t\n", ("population-empty", "line 2")),
    ],
)
def test_read_populations__raise_on_bad_table(write, text, fault):
    with refused(*fault):
        read_populations(write(text))


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.tsv.gz"])
def test_rows_of__raise_on_a_row_that_does_not_end(write, monkeypatch, name):
    monkeypatch.setattr(tables, "LONGEST_LINE", 100)
    mark = "," if "csv" in name else "\t"
    short = f"sample{mark}a\n" + f"x{mark}{'1' * 90}\n" * 5
    assert len(list(rows_of(write(short, name)))) == 6
    # One line, and in CSV one row of many lines.
    for text in ("9" * 500, *([f'"{"b" * 50}\n"' + ',"c\n"' * 20] if mark == "," else [])):
        with refused("line-too-long", "100"):
            list(rows_of(write(f"{short}x{mark}{text}\n", name)))


def test_header_of__raise_on_more_columns_than_anybody_has():
    names = [f"c{number}" for number in range(tables.MOST_COLUMNS + 1)]
    assert header_of(iter([(1, names[1:])]), "t.tsv") == names[1:]
    with refused("too-many-columns", tables.MOST_COLUMNS, len(names)):
        header_of(iter([(1, names)]), "t.tsv")


READERS = {
    "populations": (read_populations, "sample\tpop\nHG1\tGBR\nHG2\tYRI\n"),
    "phenotypes": (read_outcomes, "IID\theight\tweight\nHG1\t1.5\t2\nHG2\tNA\t3\n"),
    "phenotypes of PLINK": (read_outcomes, "#FID IID height\nHG1 HG1 1.5\nHG2 HG2 3\n"),
    "people of phenotypes": (outcome_people, "sample,height\nHG1,1.5\nHG2,2\n"),
    "scales": (read_scales, "outcome\tcentre\tscale\nheight\t170\t9\n"),
    "loadings of outcomes": (read_outcome_loadings, "outcome\torigin\tPC1\na\tx\t0.5\nb\tx\t0.25\n"),
    "ids": (read_ids, "HG1\nHG2\n"),
    "named ids": (read_ids, "IID\tsex\nHG1\t1\nHG2\t2\n"),
    "chosen people": (lambda path: find_people(path, ["HG0", "HG1", "HG2"]), "HG1\nHG2\n"),
    "consent": (lambda path: read_consent(path, column="code"), "sample\tcode\nHG1\t1\nHG2\t0\n"),
    "pairs": (read_pairs, "ID1\tID2\tKINSHIP\nHG1\tHG2\t0.25\n"),
    "sites": (read_sites, "contig\tposition\tref\talt\tfrequency\n1\t10\tA\tC\t0.25\n"),
    "map": (read_map, "position\tcM\n1\t0\n100\t0.5\n"),
    "traits": (read_traits, "outcome\treported_trait\nheight\tBody height\n"),
    "features": (read_feature_table, "a,b,y\n1,2,3\n4,5,6\n"),
    "numbers": (lambda path: read_real_table(path).names, "a,b\n1,2\n3,4\n"),
}


@pytest.mark.parametrize("kind", READERS)
def test_readers__lose_nothing_to_a_byte_order_mark_and_refuse_utf_16(tmp_path, kind):
    read, text = READERS[kind]
    path = tmp_path / "table.txt"
    path.write_text(text)
    expected = repr(read(path))
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert repr(read(path)) == expected
    for code in ("utf-16", "utf-16-le", "utf-16-be"):
        path.write_text(text, encoding=code)
        with pytest.raises(DpgrsError):
            read(path)
