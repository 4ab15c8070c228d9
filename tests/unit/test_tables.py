import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import DpgrsError
from dpgrs.io.tables import tables
from dpgrs.io.tables.tables import describe_mismatch, header_of, ids_of, read_populations, rows_of


def test_describe_mismatch__none_where_one_person_is_common():
    assert describe_mismatch(["a", "b"], ["b", "c"], shows_ids=True) is None


def test_describe_mismatch__three_ids_of_each_side_or_their_patterns():
    sides = [f"HG{i:05d}" for i in range(5)], ["x-1", "y-2", "é-33", "z"]
    assert "HG00000, HG00001, HG00002 where those have x-1, y-2, é-33." in describe_mismatch(
        *sides, shows_ids=True
    )
    assert "got AA99999 where those have A-9, A-99, A." in describe_mismatch(*sides, shows_ids=False)


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
    ("text", "message"),
    [
        ("", "is empty"),
        ("sample\tgroup\nHG1\tGBR\n", "columns `sample` and `population` must be there"),
        ("who\tpop\nHG1\tGBR\n", "columns `sample` and `population` must be there"),
        ("sample\tpop\n", "must have a line for each person"),
        ("sample\tpop\nHG1\tGBR\nHG1\tYRI\n", "line 3: each person must have one line"),
        ("sample\tpop\nHG1\t\n", "line 2: the population must not be empty"),
    ],
)
def test_read_populations__raise_on_bad_table(write, text, message):
    with pytest.raises(DpgrsError, match=re.escape(message)):
        read_populations(write(text))


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.tsv.gz"])
def test_rows_of__raise_on_a_row_that_does_not_end(write, monkeypatch, name):
    monkeypatch.setattr(tables, "LONGEST_LINE", 100)
    mark = "," if "csv" in name else "\t"
    short = f"sample{mark}a\n" + f"x{mark}{'1' * 90}\n" * 5
    assert len(list(rows_of(write(short, name)))) == 6
    # One line, and in CSV one row of many lines.
    for text in ("9" * 500, *([f'"{"b" * 50}\n"' + ',"c\n"' * 20] if mark == "," else [])):
        with pytest.raises(DpgrsError, match="a row must have at most 100 characters, got more"):
            list(rows_of(write(f"{short}x{mark}{text}\n", name)))


def outcome_of(read):
    """Return what a reader gives, or the words with which it refuses."""
    try:
        return list(read())
    except DpgrsError as error:
        return str(error)


def lines_of(path, place):
    """Return the lines below the names that both readers give, or what both refuse."""
    wanted = outcome_of(lambda: [(line, cells[place], cells) for line, cells in rows_of(path)][1:])
    found = outcome_of(lambda: [(line, sample, cells()) for line, sample, cells in ids_of(path, place)])
    assert found == wanted
    return found


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("t.tsv", "sample\ta\tb\t\nHG1\t1\t2\n\n\t\t\nHG2\t\t3\t\t\n HG3 \t1\tNA\r\n", 0),
        ("t.tsv.gz", "# note\n#FID\tIID\ta\r\nF\tHG1\t1\r\n\tHG2\t2\r\n", 1),
        ("t.csv", 'sample,"a",b\nHG1,1,2\n"HG2",1,2\n"HG3",",",2\nHG4,"two\nlines",2\n', 0),
        ("t.csv", '"sample","a"\n"HG,1",1\n"HG2",2\n"H""G3",3\n"HG4" ,4\nHG"5,6\n', 0),
        ("t.txt", "IID a b\nHG1  1 2 \n  HG2 1 2\nHG3 1 2\u00a0\nHG4\t 1 2\n", 0),
        ("old.tsv", "sample\ta\rHG1\t1\rHG2\t2\r", 0),
        ("marked.tsv", "\ufeffsample\ta\nHG1\t1\n", 0),
    ],
)
def test_ids_of__lines_as_rows_of_has_them(write, name, text, place):
    assert len(lines_of(write(text, name), place)) > 0


@pytest.mark.parametrize(
    "text",
    ["s\ta\nx\n", "s\ta\nx\t1\t2\n", "s a b\nx  1\n", "s a b\nx 1 \n", 's,a\n"x,1\n', 's,a\n"x"1,2\n'],
)
def test_ids_of__refuses_what_rows_of_refuses(write, text):
    assert lines_of(write(text), 0).startswith("`")


@settings(max_examples=300, deadline=None)
@given(
    rows=st.lists(st.text(alphabet='x1",;\t \r\u00a0', max_size=8), max_size=4), mark=st.sampled_from("\t,; ")
)
def test_ids_of__any_text_as_rows_of_has_it(tmp_path_factory, rows, mark):
    path = tmp_path_factory.mktemp("ids") / "t"
    path.write_text(f"s{mark}a{mark}b\n" + "\n".join(rows), newline="")
    lines_of(path, 0)


def test_header_of__raise_on_more_columns_than_anybody_has():
    names = [f"c{number}" for number in range(tables.MOST_COLUMNS + 1)]
    assert header_of(iter([(1, names[1:])]), "t.tsv") == names[1:]
    with pytest.raises(DpgrsError, match=f"at most {tables.MOST_COLUMNS} columns, got {len(names)}. Split"):
        header_of(iter([(1, names)]), "t.tsv")


@pytest.mark.realdata
def test_read_populations__1000_genomes_panel(real_data):
    table = read_populations(real_data / "1kg" / "integrated_call_samples_v3.20130502.ALL.panel")
    assert table.loc["HG00096"].to_dict() == {"population": "GBR", "super_population": "EUR"}
    assert table["super_population"].nunique() == 5
    assert table["population"].nunique() == 26
