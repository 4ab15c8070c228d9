"""What the PGS Catalog asks of those who submit scores, as far as a bundle says it; the rest is named.

A bundle says nothing of people that was not paid for or public, so nothing here costs anything. What only the
curator knows may be private: the notes say which of it the guarantee would not cover.
"""

import datetime
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import replacing
from dpgrs.methods.registry import METHODS
from dpgrs.statement.effects_metadata import case_counts_of
from dpgrs.statement.files import ACCURACY_SUMS, STATEMENT
from dpgrs.statement.text import rows_of_cases
from dpgrs.statement.words import COVARIATES_INPUT, ROWS_INPUT
from dpgrs.study.traits import traits_by_outcome
from dpgrs.types import Metrics, Neighbours, Rows
from dpgrs.verify.accuracy_check import read_sums
from dpgrs.verify.bundle import verify_release
from dpgrs.verify.input_check import HELD_OUT, MEASURED_ON

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


DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>,;]*[^\s\"<>,;.)\]]")
NUMBERS = re.compile(
    r"R\^2 (-?[\d.]+)(?: with noise of standard deviation ([\d.]+))?, mean squared error (-?[\d.]+)"
)
DEVELOPMENT, TESTING = "Score development", "Testing"
MOST_NAMED = 3
R2 = "R² is 1 less the mean squared error over the mean square of the standardised outcome."
RULE = (
    "The Catalog takes new scores with their performance on samples that did not develop them (its inclusion "
    "criteria)."
)
WITHHELD = (
    f"{RULE} This release withholds accuracy: score people outside of it (`dpgrs score`), and add their "
    "samples and metrics."
)
OF_SOME = f"{RULE} This release states none of {{}}: score people outside of it, or leave these scores out."
OF_COHORT = (
    "Accuracy is of people held out of the training cohort: they did not develop the scores, but are no "
    "independent cohort, which is better given too."
)
OF_SIMULATION = (
    "Outcomes of the people measured on are simulated. The Catalog takes scores of real traits, measured on "
    "real people."
)
OF_REFERENCE = (
    f"{RULE} The public people measured on gave the fit their linkage disequilibrium: measure on others, too."
)


class _Score(NamedTuple):
    """A score of a bundle: its name and outcome, what the curator states of it, and its file as stated."""

    name: str
    outcome: str
    trait: dict[str, Any]
    file: dict[str, Any]


class _Accuracy(NamedTuple):
    """The stated accuracy of one outcome: text of numbers, the noise None if there is none."""

    r2: str
    noise: str | None
    mse: str


@dataclass(frozen=True)
class Submission:
    """A template as far as it can be filled in."""

    rows: dict[str, list[dict[str, Any]]]  # of each sheet of `sheets`
    warnings: list[str]  # why the Catalog may not take the scores
    left: list[str]  # what only the curator knows, sheet by sheet

    @property
    def notes(self) -> str:
        """All that the curator has yet to see to, text of a line each."""
        lines = ["Warnings:", *(f"- {line}" for line in self.warnings or ["none"])]
        return "\n".join([*lines, "Left to the curator:", *(f"- {line}" for line in self.left)]) + "\n"


def write_submission(directory: Path | str, output: Path | str) -> Submission:
    """Fill the Catalog's template from a bundle, and list what is left to do beside it.

    `output` is the workbook, ``.xlsx``, new and outside the bundle; the notes go into the same name with
    ``.txt``. A bundle with any finding of `verify_release` is refused before anything is written.
    """
    output = Path(output)
    notes = output.with_suffix(".txt")
    if output.suffix != ".xlsx":
        raise UsageError("output-ending", f"`--output` must end in .xlsx, got {output}. Rename it.")
    for path in (output, notes):
        if path.exists():
            raise UsageError(
                "file-exists", f"`{path}` must be a new file: it may be filled in by hand. Name another."
            )
    if Path(directory).resolve() in output.resolve().parents:
        raise UsageError(
            "output-inside-release",
            f"`--output` must lie outside of the release, which is sealed, got {output}. Move it.",
        )
    submission = fill_template(directory)
    with replacing(output) as workbook, replacing(notes) as text:
        write_workbook(workbook, submission.rows)
        text.write_text(submission.notes, encoding="utf-8")
    return submission


def fill_template(directory: Path | str) -> Submission:
    """Return what a bundle has for each sheet, what it lacks, and why the Catalog may not take it.

    A bundle with any finding of `verify_release` is refused.
    """
    verify_release(directory)
    bundle = _Bundle(Path(directory))
    return Submission(
        rows={
            PUBLICATION: _publication(bundle),
            SCORES: [_score(bundle, score) for score in bundle.scores],
            SAMPLES: [row for score in bundle.scores for row in _samples(bundle, score)],
            PERFORMANCE: [row for score in bundle.scores for row in _performance(bundle, score)],
            COHORTS: [{"id": name} for name in bundle.cohorts],
        },
        warnings=_warnings(bundle),
        left=_left(bundle),
    )


class _Bundle:
    """A bundle that was checked, as the sheets need it.

    `inputs` and `origins` of public inputs are by name. `accuracy` and `n_tested`, the public people measured
    on, are by outcome, without outcomes of which nothing is stated. `counts` are noisy cases and controls in
    people, by outcome; empty if none were counted.
    """

    def __init__(self, folder: Path) -> None:
        self.statement = json.loads((folder / STATEMENT).read_text(encoding="utf-8"))
        self.inputs = {public["name"]: public["value"] for public in self.statement["public_inputs"]}
        self.origins = {public["name"]: public["origin"] for public in self.statement["public_inputs"]}
        traits = traits_by_outcome(self.statement["curation"])
        self.scores = [
            _Score(_name_of(score["file"]), score["outcome"], traits.get(score["outcome"], {}), score)
            for score in self.statement["scores"]
        ]
        self.counts = case_counts_of(self.statement)
        self.notes_of_counts = {
            counts["outcome"]: f" {counts['note']}" if "note" in counts else ""
            for counts in self.statement.get("case_counts", ())
        }
        stated, self.accuracy, self.n_tested = self.statement["accuracy"], {}, {}
        self.is_withheld = stated == Metrics.WITHHELD
        for measure in () if self.is_withheld else stated:
            if match := NUMBERS.match(measure["value"]):
                self.accuracy[measure["name"]] = _Accuracy(*match.groups())
        if (folder / ACCURACY_SUMS).exists():
            sums, _ = read_sums(self.statement, {ACCURACY_SUMS: folder / ACCURACY_SUMS})
            n_people = [int(float(cells[0])) // self.rows_of_person for cells in sums]
            self.n_tested = dict(zip(self.outcomes, n_people, strict=True))

    @property
    def outcomes(self) -> list[str]:
        return self.statement["data_domain"]["outcomes"]

    @property
    def cohorts(self) -> list[str]:
        """The short names of all cohorts that the curator names, each once."""
        return list(dict.fromkeys(name for score in self.scores for name in score.trait.get("cohorts", ())))

    @property
    def rows_of_person(self) -> int:
        return 2 if self.statement["guarantee"]["rows"] == Rows.HAPLOTYPES else 1

    @property
    def n_trained(self) -> int | None:
        """The number of people of the training cohort as released; None if it is not."""
        try:
            return round(float(self.inputs[ROWS_INPUT]) / self.rows_of_person)
        except ValueError:
            return None

    @property
    def n_held_out(self) -> int | None:
        """About how many were held out, by their public share and the number above; None if not known."""
        share = re.fullmatch(r"a share of (\S+)", self.inputs.get(HELD_OUT, ""))
        if self.n_trained is None or not share:
            return None
        return max(1, round(self.n_trained * float(share[1]) / (1 - float(share[1]))))

    @property
    def is_noisy(self) -> bool:
        """Whether the number of people has noise."""
        return (
            self.n_trained is not None and self.statement["guarantee"]["neighbours"] == Neighbours.ADD_REMOVE
        )

    @property
    def is_of_cohort(self) -> bool:
        """Whether accuracy, if there is any, was drawn of people of the cohort."""
        return not self.is_withheld and not self.n_tested


def _publication(bundle: "_Bundle") -> list[dict[str, Any]]:
    curation = bundle.statement["curation"]
    lines, doi = sheets()[PUBLICATION]["line"], DOI.search(curation["citation"])
    summary = f"{curation['title']}, by {curation['curator']}, {curation['publication_date']}."
    licensing = f"License: {curation['license']}. Terms: {curation['data_use_terms']}"
    thanks = f" {curation['acknowledgement']}" if "acknowledgement" in curation else ""
    return [
        {"line": lines["details"], "doi": doi[0] if doi else ""},
        {"line": lines["notes"], "pmid": f"{summary} {licensing}{thanks}"},
    ]


def _score(bundle: "_Bundle", score: "_Score") -> dict[str, Any]:
    statement, trait = bundle.statement, score.trait
    domain, software = statement["data_domain"], f"dpgrs {statement['software']['version']}."
    digest = statement["files"][score.file["file"]]
    return {
        "name": score.name,
        "trait": trait.get("reported_trait", score.outcome),
        "efo_ids": ",".join(trait.get("efo_ids", ())),
        "efo_names": ", ".join(trait.get("mapped_traits", ())),
        "method": f"{METHODS[statement['method']].label}, differentially private",
        "details": " ".join([software, statement["guarantee"]["definition"], *statement["post_processing"]]),
        "build": domain["genome_build"],
        "n_variants": score.file.get("n_variants", domain["n_variants"]),
        "n_interactions": 0,
        "notes": f"Scoring file {score.file['file']}, SHA-256 {digest}, whose header has the constant of "
        f"predictions. {statement['guarantee']['plain_language']}",
    }


def _samples(bundle: "_Bundle", score: "_Score") -> Iterator[dict[str, Any]]:
    """Yield the rows of those who developed a score, and of those it was measured on."""
    dataset, trait = bundle.statement["dataset"], score.trait
    dataset_words = (
        f"{dataset['accession']}, consent group {dataset['consent']}, version {dataset['dataset_version']}."
    )
    of_cohort = {
        "scores": score.name,
        "doi": trait.get("doi", ""),
        "ancestry": trait.get("ancestry", ""),
        "countries": ", ".join(trait.get("countries", ())),
        "cohorts": ", ".join(trait.get("cohorts", ())),
    }
    noisy = " Their number has noise for privacy." if bundle.is_noisy else ""
    n_trained = {} if bundle.n_trained is None else {"n_people": bundle.n_trained}
    counts_note = noisy if n_trained else " Their number is withheld for privacy."
    if counts := bundle.counts.get(score.outcome):
        n_trained = {"n_people": sum(counts.values())}
        n_trained |= {f"n_{kind}": number for kind, number in counts.items()}
        counts_note += (
            f" Cases and controls have noise for privacy. They are of {rows_of_cases(bundle.statement)}."
        )
        counts_note += bundle.notes_of_counts[score.outcome]
    yield of_cohort | {"stage": DEVELOPMENT, "additional": dataset_words + counts_note} | n_trained
    if score.outcome not in bundle.accuracy:
        return
    tested = {"scores": score.name, "stage": TESTING, "sample_set": _sample_set(score)}
    if bundle.n_tested:
        where = f"Public people: {bundle.origins[MEASURED_ON]}."
        yield tested | {"n_people": bundle.n_tested[score.outcome], "additional": where}
        return
    share = f" People held out, {bundle.inputs[HELD_OUT]}; their number is about so much."
    n_tested = {} if bundle.n_held_out is None else {"n_people": bundle.n_held_out}
    yield of_cohort | tested | {"additional": dataset_words + share} | n_tested


def _performance(bundle: "_Bundle", score: "_Score") -> Iterator[dict[str, Any]]:
    """Yield the row of a score that was measured."""
    if score.outcome not in bundle.accuracy:
        return
    r2, noise, mse = bundle.accuracy[score.outcome]
    noisy = f" R² has noise for privacy of standard deviation {noise}, beside chance." if noise else ""
    yield {
        "score": score.name,
        "sample_set": _sample_set(score),
        "trait": score.trait.get("reported_trait", score.outcome),
        "r2": float(r2),
        "other": f"Mean squared error = {mse}",
        "covariates": bundle.inputs.get(COVARIATES_INPUT, ""),
        "details": f"{R2}{noisy}",
    }


def _name_of(file: str) -> str:
    """Return the name of a score, which is its file's, and therefore safe between commas."""
    return Path(file).name.removesuffix(".txt.gz")


def _sample_set(score: "_Score") -> str:
    return f"{score.name}.test"


def _warnings(bundle: "_Bundle") -> list[str]:
    if bundle.is_withheld:
        return [WITHHELD]
    without = [outcome for outcome in bundle.outcomes if outcome not in bundle.accuracy]
    warnings = {
        OF_SOME.format(_some(without)): bool(without),
        OF_COHORT: bundle.is_of_cohort,
        OF_SIMULATION: bundle.inputs.get(MEASURED_ON) == "simulated",
        OF_REFERENCE: bool(bundle.n_tested) and "ld" in bundle.statement["fit"],
    }
    return [line for line, holds in warnings.items() if holds]


def _left(bundle: "_Bundle") -> list[str]:
    """List the fields of the template that no bundle holds."""
    publication, *_ = _publication(bundle)
    identified = "PubMed ID" if publication["doi"] else "doi or PubMed ID"
    left = [f"{PUBLICATION}: {identified}, journal, date, first author; none for an embargoed study."]
    lacking = {
        SCORES: {"reported_trait": "reported trait", "efo_ids": "EFO IDs"},
        SAMPLES: {
            "ancestry": "broad ancestral category",
            "cohorts": "cohorts",
            "countries": "countries",
            "doi": "PMID or doi",
        },
    }
    for sheet, fields in lacking.items():
        for field, label in fields.items():
            if names := [score.outcome for score in bundle.scores if field not in score.trait]:
                left.append(f"{sheet}: {label} of {_some(names)} (`outcomes.traits` has none).")
    covered = "an exact count of private people is not covered by the guarantee"
    if bundle.n_trained is None:
        left.append(f"{SAMPLES}: number of individuals, which the release withholds; {covered}.")
    elif bundle.is_noisy:
        left.append(f"{SAMPLES}: leave the noisy number of individuals as it is; {covered}.")
    is_left = "" if bundle.counts else "cases and controls, "
    if bundle.counts:
        left.append(f"{SAMPLES}: leave the noisy numbers of cases and controls as they are; {covered}.")
    left.append(
        f"{SAMPLES}: {is_left}share of men, age, follow-up, definitions of phenotypes, "
        f"as published before; {covered}, nor is a mean."
    )
    if bundle.n_tested:
        left.append(f"{SAMPLES}: ancestry, cohort and countries of the public people measured on.")
    if any(score.trait.get("ancestry", "").startswith("Multiple") for score in bundle.scores):
        left.append(f"{SAMPLES}: additional ancestry description of people of multiple ancestries.")
    left.append(f"{PERFORMANCE}: odds ratio, AUROC and whatever else was published of the scores.")
    if bundle.cohorts:
        left.append(f"{COHORTS}: full names of {', '.join(bundle.cohorts)}.")
    return left


def _some(names: list[str]) -> str:
    """Name a few of many."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
