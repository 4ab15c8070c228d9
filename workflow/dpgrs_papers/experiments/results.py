"""From the replicates of an experiment to its table, figures, page and summary."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dpgrs.errors import UsageError
from dpgrs.io.files import read_table, replacing, write_table
from dpgrs.reporting.rendering import Drawing, Section, environment, write_assets, write_page
from dpgrs.reporting.svg import save_svg
from dpgrs_papers.experiments.frame import Experiment, Verdict, find
from dpgrs_papers.experiments.plans import Form
from dpgrs_papers.experiments.plots import styled

TEMPLATES = Path(__file__).with_name("templates")


def replicate_file(folder: Path | str, part_name: str, replicate: int) -> Path:
    """Return where the rows of a replicate lie in the folder of an experiment."""
    return Path(folder, "replicates", part_name, f"{replicate}.tsv")


def run_replicate(
    name: str, part_name: str, replicate: int, *, settings: dict, files: Sequence[str], output: Path | str
) -> None:
    """Run one replicate of one part and write its rows."""
    rows = pd.DataFrame(
        find(name).run_replicate(part_name, replicate, settings, [Path(file) for file in files])
    )
    rows.insert(0, "part", part_name)
    rows.insert(1, "replicate", replicate)
    write_table(output, rows)


def gather(name: str, *, folder: Path | str, plan: dict) -> None:
    """Write table, figures, page and summary of an experiment of which all replicates have run."""
    experiment, settings, folder = find(name), plan["settings"], Path(folder)
    files = [
        replicate_file(folder, part_name, replicate)
        for part_name in plan["parts"]
        for replicate in range(1, plan["replicates"] + 1)
    ]
    if not files:
        raise UsageError("results-empty", f"`{name}` must have parts and replicates, got none. Add them.")
    rows = pd.concat([read_table(file) for file in files], ignore_index=True)
    table = experiment.summarise(rows, settings)
    numbers = experiment.compare(table, settings)
    verdict, reason = experiment.judge(table, settings)
    write_table(folder / "table.tsv", table)
    write_table(folder / "numbers.tsv", numbers)
    (folder / "figures").mkdir(exist_ok=True)
    with replacing(folder / "summary.md") as temporary:
        temporary.write_text(
            "\n".join(summary(name, experiment, numbers, verdict, reason, plan=plan)), encoding="utf-8"
        )
    with styled():
        drawings = experiment.draw(table, settings)
        for label, drawing in drawings.items():
            save_svg(drawing.figure.svg(), folder / "figures" / f"{label}.svg")
        _write_report(
            name, experiment, numbers, drawings, folder, plan=plan, verdict_text=f"{verdict}: {reason}"
        )


def summary(
    name: str, experiment: Experiment, numbers: pd.DataFrame, verdict: Verdict, reason: str, *, plan: dict
) -> Iterator[str]:
    """Yield the lines of a summary, to be pasted into a page."""
    yield f"## {experiment.paper}: {experiment.shows}"
    yield ""
    yield f"**{verdict[:1].upper()}{verdict[1:]}**: {reason}"
    yield ""
    form_option = f" --config {plan['form']}=true" if plan["form"] in {Form.QUICK, Form.WHOLE} else ""
    yield f"{extent(plan)} By `snakemake -s config/experiments/Snakefile {name}{form_option}`."
    yield ""
    yield from in_markdown(numbers)
    if experiment.choices:
        yield ""
    yield from (f"- {choice}" for choice in experiment.choices)
    yield ""


def extent(plan: dict) -> str:
    """Say how much of an experiment was run, a str."""
    part_names = ", ".join(plan["parts"])
    runs = f"{plan['replicates']} replicates each of {part_names}."
    if plan["form"] == Form.QUICK:
        runs = f"Quick form, far smaller than the paper's: {runs}"
    return f"{runs} Cut: {plan['rule']}" if plan["rule"] else runs


def in_markdown(table: pd.DataFrame) -> Iterator[str]:
    """Yield the lines of a data frame as a table in Markdown; floats with three significant digits."""
    yield f"| {' | '.join(map(str, table.columns))} |"
    yield "| --- " * len(table.columns) + "|"
    for row in table.itertuples(index=False):
        yield f"| {' | '.join(map(shown_cell, row))} |"


def shown_cell(cell: Any) -> str:
    """Return a cell as text: floats with three significant digits, missing ones empty."""
    if isinstance(cell, float):
        return "" if cell != cell else f"{cell:.3g}"
    return str(cell)


def _write_report(
    name: str,
    experiment: Experiment,
    numbers: pd.DataFrame,
    drawings: dict[str, Drawing],
    folder: Path,
    *,
    plan: dict,
    verdict_text: str,
) -> None:
    sections = [
        Section(
            "Figures",
            _template("experiment_figures.html"),
            lambda _: {"figures": drawings, "drawings": drawings},
        ),
        Section("Numbers", _template("experiment_numbers.html"), lambda _: shown),
    ]
    cells = [[shown_cell(cell) for cell in row] for row in numbers.itertuples(index=False)]
    shown = {"columns": list(numbers.columns), "rows": cells, "choices": experiment.choices}
    write_assets(folder / "report")
    write_page(
        folder / "report" / "index.html",
        _template("experiment.html"),
        sections if drawings else sections[1:],
        None,
        shared={"mode": "benchmark", "root": ""},
        title=name.replace("_", " "),
        experiment=experiment,
        verdict=verdict_text,
        extent=extent(plan),
    )


def _template(name: str) -> Any:
    return environment().from_string((TEMPLATES / name).read_text(encoding="utf-8"))
