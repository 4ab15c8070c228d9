import pytest

from dpgrs.reporting.text_table import text_table


def test_text_table__aligns_numbers_to_the_right_and_words_to_the_left():
    rows = [["gram", "230", "0.5"], ["cross product", "1.2e-05", ""], ["count", "< -1", "refused"]]
    assert text_table(["statistic", "noise sd", "left"], rows).splitlines() == [
        "statistic      noise sd     left",
        "gram                230      0.5",
        "cross product   1.2e-05",
        "count              < -1  refused",
    ]


@pytest.mark.parametrize(
    ("cell", "is_number"),
    [
        *((cell, True) for cell in ("7", "-0.25", "3.100 !", "inf")),
        *((cell, False) for cell in ("2026-11-01", "0f3c", "(1, 1e-6)", "")),
    ],
)
def test_text_table__what_counts_as_a_number(cell, is_number):
    (_, line) = text_table(["a long heading"], [[cell]]).split("\n")
    assert line == (cell.rjust(14) if is_number else cell)


def test_text_table__headings_alone():
    assert text_table(["request", "status"], []) == "request  status"


def test_text_table__raise_on_ragged_rows():
    with pytest.raises(ValueError, match="zip"):
        text_table(["a", "b"], [["1", "2"], ["3"]])
