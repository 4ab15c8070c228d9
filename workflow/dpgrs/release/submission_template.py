"""The workbook in which the PGS Catalog takes scores, as `schemas/pgs_submission.yaml` has its columns."""

import datetime
from collections.abc import Collection
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from dpgrs.errors import DpgrsError

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

TEMPLATE = Path(__file__).parents[1] / "schemas/pgs_submission.yaml"
PUBLICATION, SCORES, SAMPLES = "Publication Information", "Score(s)", "Sample Descriptions"
PERFORMANCE, COHORTS = "Performance Metrics", "Cohort Refr."
# The limit of a workbook.
LONGEST_CELL = 32_767
WIDTH, HEAD_HEIGHT = 28, 90


@cache
def sheets() -> dict[str, dict[str, Any]]:
    """Return the columns of each sheet: name and caption by key."""
    return yaml.load(TEMPLATE.read_text(encoding="utf-8"), yaml.CSafeLoader)


def write_workbook(path: Path | str, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Write the workbook, ``.xlsx``; same rows, same bytes.

    Rows of a sheet have text or numbers by columns of `sheets`; others stay empty. A text longer than a cell
    is refused before anything is written.
    """
    import xlsxwriter  # needed only to submit

    _require_short(rows)
    # Its own error would not say what of a disk was wrong.
    content = BytesIO()
    with xlsxwriter.Workbook(content, {"in_memory": True}) as workbook:
        # The time of a run has no place.
        workbook.set_properties({"created": datetime.datetime(2000, 1, 1)})
        head = workbook.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        for name, columns in sheets().items():
            sheet = workbook.add_worksheet(name)
            sheet.set_column(0, len(columns) - 1, WIDTH)
            below = _write_head(sheet, columns.values(), head)
            for line, row in enumerate(rows[name], start=below):
                for index, column in enumerate(columns):
                    value = row.get(column, "")
                    # Text is text whatever it begins with: no formula, no address.
                    write = sheet.write_string if isinstance(value, str) else sheet.write_number
                    if value != "":
                        write(line, index, value)
    Path(path).write_bytes(content.getvalue())


def _write_head(sheet: "Worksheet", columns: Collection[dict[str, Any]], form: "Format") -> int:
    """Write names of columns, under their captions if there are any; return the number of the next row."""
    n_rows, last = 1 + any("under" in column for column in columns), None
    for row in range(n_rows):
        sheet.set_row(row, HEAD_HEIGHT, form)
    for index, column in enumerate(columns):
        caption = column.get("under")
        if caption and caption != last:
            sheet.write_string(0, index, caption, form)
        sheet.write_string(1 if caption else 0, index, column["name"], form)
        last = caption
    return n_rows


def _require_short(rows: dict[str, list[dict[str, Any]]]) -> None:
    for sheet, lines in rows.items():
        for row in lines:
            for column, value in row.items():
                if isinstance(value, str) and (size := len(value)) > LONGEST_CELL:
                    raise DpgrsError(
                        "cell-too-long",
                        f"A cell of the template must have at most {LONGEST_CELL} characters, got {size} as "
                        f"{column} of {sheet}. Shorten what the curator says.",
                    )
