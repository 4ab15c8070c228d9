"""From the replicates of an experiment to its table, figures, page and summary."""

from pathlib import Path

import pandas as pd

from dpgrs.errors import UsageError
from dpgrs.io.files import read_table, replacing, write_table
from dpgrs.reporting.rendering import Section, environment, write_assets, write_page
from dpgrs.reporting.svg import save_svg
from dpgrs_papers.experiments.frame import find
from dpgrs_papers.experiments.plans import Form
from dpgrs_papers.experiments.plots import styled

TEMPLATES = Path(__file__).with_name("templates")


def replicate_file(folder, part, replicate):
    """Return where the rows of a replicate lie in the folder of an experiment."""
    return Path(folder, "replicates", part, f"{replicate}.tsv")


def run_replicate(name, part, replicate, *, settings, files, output):
    """Run one replicate of one part and write its rows."""
    rows = pd.DataFrame(find(name).run_replicate(part, replicate, settings, [Path(file) for file in files]))
    rows.insert(0, "part", part)
    rows.insert(1, "replicate", replicate)
    write_table(output, rows)


def gather(name, *, folder, terms):
    """Write table, figures, page and summary of an experiment of which all replicates have run."""
    experiment, settings, folder = find(name), terms["settings"], Path(folder)
    files = [
        replicate_file(folder, part, replicate)
        for part in terms["parts"]
        for replicate in range(1, terms["replicates"] + 1)
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
            "\n".join(summary(name, experiment, numbers, verdict, reason, terms=terms)), encoding="utf-8"
        )
    with styled():
        drawings = experiment.draw(table, settings)
        for label, drawing in drawings.items():
            save_svg(drawing.figure.svg(), folder / "figures" / f"{label}.svg")
        _write_report(name, experiment, numbers, drawings, folder, terms=terms, said=f"{verdict}: {reason}")


def summary(name, experiment, numbers, verdict, reason, *, terms):
    """Yield the lines of a summary, to be pasted into a page."""
    yield f"## {experiment.paper}: {experiment.shows}"
    yield ""
    yield f"**{verdict[:1].upper()}{verdict[1:]}**: {reason}"
    yield ""
    asked = f" --config {terms['form']}=true" if terms["form"] in {Form.QUICK, Form.WHOLE} else ""
    yield f"{extent(terms)} By `snakemake -s config/experiments/Snakefile {name}{asked}`."
    yield ""
    yield from in_markdown(numbers)
    if experiment.choices:
        yield ""
    yield from (f"- {choice}" for choice in experiment.choices)
    yield ""


def extent(terms):
    """Say how much of an experiment was run, a str."""
    parts = ", ".join(terms["parts"])
    said = f"{terms['replicates']} replicates each of {parts}."
    if terms["form"] == Form.QUICK:
        said = f"Quick form, far smaller than the paper's: {said}"
    return f"{said} Cut: {terms['rule']}" if terms["rule"] else said


def in_markdown(table):
    """Yield the lines of a data frame as a table in Markdown; floats with three significant digits."""
    yield f"| {' | '.join(map(str, table.columns))} |"
    yield "| --- " * len(table.columns) + "|"
    for row in table.itertuples(index=False):
        yield f"| {' | '.join(map(shown_cell, row))} |"


def shown_cell(value):
    """Return a cell as text: floats with three significant digits, missing ones empty."""
    if isinstance(value, float):
        return "" if value != value else f"{value:.3g}"
    return str(value)


def _write_report(name, experiment, numbers, drawings, folder, *, terms, said):
    sections = [
        Section(
            "Figures",
            _template("experiment_figures.html"),
            lambda _: {"figures": drawings, "drawings": drawings},
        ),
        Section("Numbers", _template("experiment_numbers.html"), lambda _: shown),
    ]
    cells = [[shown_cell(value) for value in row] for row in numbers.itertuples(index=False)]
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
        said=said,
        extent=extent(terms),
    )


def _template(name):
    return environment().from_string((TEMPLATES / name).read_text(encoding="utf-8"))
