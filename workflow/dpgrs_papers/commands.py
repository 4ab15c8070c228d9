"""Commands of experiments, as `config/experiments/Snakefile` calls them, and of stores of copies."""

import json
from typing import Any

import click

from dpgrs.cli.options import AT_LEAST_1, path_argument, people_terms
from dpgrs.cli.store import make_people


@click.group()
def experiment() -> None:
    """Figures and tables of the papers, one replicate at a time."""


@experiment.command("replicate")
@click.argument("name")
@click.argument("part_name", metavar="PART")
@click.argument("replicate", type=AT_LEAST_1)
@path_argument("files", nargs=-1)
@click.option("--settings", required=True, help="Seed and grid, as JSON.")
@click.option("--output", type=click.Path(), required=True, help="Table to write.")
def run_one_replicate(
    name: str, part_name: str, replicate: int, files: tuple, settings: str, output: str
) -> None:
    """Run one replicate of one part, on the FILES of that part."""
    from dpgrs_papers.experiments.results import run_replicate

    run_replicate(name, part_name, replicate, settings=json.loads(settings), files=files, output=output)


@experiment.command("gather")
@click.argument("name")
@path_argument("folder")
@click.option("--terms", "plan", required=True, help="Parts, replicates, seed and grid, as JSON.")
def gather_replicates(name: str, folder: str, plan: str) -> None:
    """Write table, figures, page and summary of the replicates in a FOLDER."""
    from dpgrs_papers.experiments.results import gather

    gather(name, folder=folder, plan=json.loads(plan))


@click.command("imitate")
@path_argument("store")
@path_argument("output")
@people_terms
@click.option("--window", type=AT_LEAST_1, default=256, show_default=True, help="Variants made together.")
@click.option(
    "--overlap",
    type=click.IntRange(min=0),
    default=64,
    show_default=True,
    help="Common variants before a window that its generator is given.",
)
@click.option(
    "--steps", type=AT_LEAST_1, default=2000, show_default=True, help="Steps of training, of each window."
)
@click.pass_obj
def imitate(
    context: Any,
    store: str,
    output: str,
    table: str | None,
    window: int,
    overlap: int,
    steps: int,
    **options: Any,
) -> None:
    """Make many people by a generator trained on the few of a STORE (GAN), as private as these are.

    Needs the extra `dpgrs[gan]`.
    """
    from dpgrs_papers.imitation.imitation import ImitationModel, imitate_store

    options["model"] = ImitationModel(window, overlap, steps)
    make_people(context, imitate_store, store, output, table, options)


@click.command("compare")
@path_argument("source")
@path_argument("copies")
@click.option("--populations", nargs=2, type=click.Path(), help="Tables of the populations of both.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Seed that chooses the people compared.",
)
def compare(source: str, copies: str, populations: tuple[str, str] | None, seed: int) -> None:
    """Compare COPIES with their SOURCE: how similar they are, and how close to single people."""
    from dpgrs.reporting.text_table import text_table
    from dpgrs_papers.imitation.likeness import compare_stores

    measures = compare_stores(source, copies, populations=populations or (None, None), seed=seed)
    rows = [[measure.name, f"{measure.source:.4f}", f"{measure.copies:.4f}"] for measure in measures]
    click.echo(text_table(["measure", "source", "copies"], rows))
