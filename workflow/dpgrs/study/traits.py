"""Outcomes in the words of the curator: public text, for the statement and all that quotes it."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from jsonschema import Draft202012Validator

from dpgrs.errors import DpgrsError, shown
from dpgrs.io.tables.tables import MISSING, find_column, header_of, plain_name, rows_of
from dpgrs.statement.schema import definition

# Columns of the table, and the fields of a statement that they become; those of lists have several values.
FIELDS = {
    "reported_trait": "reported_trait",
    "efo_id": "efo_ids",
    "mapped_trait": "mapped_traits",
    "cohort": "cohorts",
    "ancestry": "ancestry",
    "country": "countries",
    "doi": "doi",
}
OUTCOME, BETWEEN = "outcome", "|"


def read_traits(path: Path | str, outcomes: Sequence[str] | None = None) -> tuple[dict, ...]:
    """Read the table of what outcomes are, a line for each outcome.

    Columns are `outcome`, its name, and any of `FIELDS`; several values of a cell stand between `|`, and a
    cell may be empty. Traits are as in the schema of the statement (``trait``), in the order of the outcomes,
    without outcomes of which nothing is stated; None as `outcomes` allows any. A table of another form is
    refused.
    """
    rows = rows_of(path)
    columns = _columns(header_of(rows, path), path)
    form = {name: Draft202012Validator(schema) for name, schema in definition("trait")["properties"].items()}
    traits = {}
    for line, cells in rows:
        cells = {name: cells[index] for name, index in columns.items() if cells[index] not in MISSING}
        name, where = cells.pop(OUTCOME, ""), f"`{path}`, line {line}"
        if not name or name in traits:
            raise DpgrsError(
                "trait-named-twice", f"{where}: must name an outcome that no other line names. Correct it."
            )
        if outcomes is not None and name not in outcomes:
            fix = _suggestion(name, outcomes)
            raise DpgrsError(
                "trait-unknown", f"{where}: must name an outcome of the study, got {shown(name)}. {fix}"
            )
        trait = {FIELDS[column]: _value(FIELDS[column], cell, form) for column, cell in cells.items()}
        for column, cell in cells.items():
            field = FIELDS[column]
            if not form[field].is_valid(trait[field]):
                requirement = form[field].schema["title"]
                raise DpgrsError(
                    "trait-field-invalid",
                    f"{where}: `{column}` must be {requirement}, got {shown(cell)}. Correct it.",
                )
        ids, labels = (len(trait.get(field, ())) for field in ("efo_ids", "mapped_traits"))
        if labels not in (0, ids):
            got = f"{labels} of {ids}"
            raise DpgrsError(
                "trait-labels",
                f"{where}: `mapped_trait` must be one label an `efo_id`, got {got}. Correct it.",
            )
        traits[name] = {OUTCOME: name} | trait
    order = [name for name in (traits if outcomes is None else outcomes) if len(traits.get(name, ())) > 1]
    return tuple(traits[name] for name in order)


def traits_by_outcome(curation: dict) -> dict[str, dict]:
    """Return the traits that the curator states, by outcome; some outcomes have none."""
    return {trait[OUTCOME]: trait for trait in curation.get("traits", ())}


def _columns(header: list[str], path: Path | str) -> dict[str, int]:
    """Return the index of each column."""
    known_columns, plain = [OUTCOME, *FIELDS], [plain_name(name) for name in header]
    index_by_column = {name: find_column(plain, {name}) for name in known_columns}
    # In another table, given by mistake, these may be a person's values. None is quoted.
    other = [number for number, name in enumerate(plain, start=1) if name not in known_columns]
    if other or index_by_column[OUTCOME] is None or len(set(plain)) < len(plain):
        got = f"another as column {other[0]}" if other else f"no `{OUTCOME}`, or one twice"
        raise DpgrsError(
            "trait-columns",
            f"`{path}`, line 1: the columns must be `{OUTCOME}` and any of {', '.join(FIELDS)}, got {got}. "
            "Correct their names.",
        )
    return {name: index for name, index in index_by_column.items() if index is not None}


def _value(field: str, cell: str, form: dict[str, Draft202012Validator]) -> str | list[str]:
    """Return the value of a cell: text, or a list of text."""
    is_list = form[field].schema.get("type") == "array"
    return [item.strip() for item in cell.split(BETWEEN)] if is_list else cell


def _suggestion(name: str, outcomes: Sequence[str]) -> str:
    close = get_close_matches(name, outcomes, n=1)
    return f"Did you mean {shown(close[0])}?" if close else "Remove the line."
