"""The command line: one verb per step of the workflow. Heavy imports wait until a verb runs."""

import atexit
import gc
import json
import os
import sys
import textwrap
import traceback
from pathlib import Path
from typing import Any, NoReturn

import click

import dpgrs
from dpgrs.cli.centre import centre
from dpgrs.cli.fetch import COMMANDS as FETCHING
from dpgrs.cli.ledger import key, ledger, plan, release
from dpgrs.cli.options import AT_LEAST_1, SHARE
from dpgrs.cli.people import COMMANDS as PEOPLE
from dpgrs.cli.run import demo, init, run
from dpgrs.cli.score import score
from dpgrs.cli.settings import settings
from dpgrs.cli.store import store
from dpgrs.cli.verbs import command_of
from dpgrs.errors import DpgrsError, shown
from dpgrs.plugins import points
from dpgrs.study.verbs import verb_names

OUT_OF_MEMORY = (
    "Memory ran out. Ask for fewer variants or outcomes, or run it where there is more memory; on a cluster "
    "ask for it with `--set-resources RULE:mem_mb=N`."
)
NO_THREAD = "can't start new thread"  # Python's words where memory lacks for its stack
# Modules that an extra of pyproject.toml installs; the base does without them.
EXTRAS = {
    "score": ("llvmlite", "numba", "numcodecs", "pyarrow", "zarr"),
    "workflow": (
        *("allel", "cryptography", "matplotlib", "msprime", "pyrage", "sklearn", "snakemake"),
        *("snakemake_executor_plugin_slurm", "stdpopsim", "tabulate", "xlsxwriter"),
    ),
    "gan": ("jax", "optax"),
}
# Commands for people, by what one wants to do; all others are steps that Snakemake calls.
SECTIONS = {
    "Run a study": ("init", "settings", "plan", "run", "demo"),
    "Make or check a release": ("key", "ledger", "release", "centre", "compare-people", "closeout"),
    "Apply scores": ("score",),
    "Prepare genotypes": ("fetch-manifest", "fetch", "store"),
    "Test the claims": ("audit",),
}
OTHERS, STEPS = "Added by other packages", "Steps of a study"
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Verbs(click.Group):
    """A group whose verbs report what the user can mend in one line, and the rest with a traceback on -vv."""

    def list_commands(self, context: click.Context | None) -> list[str]:
        return sorted({*super().list_commands(context), *verb_names()})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Return a command; the command of a step is made on request."""
        return command_of(name) if name in verb_names() else super().get_command(context, name)

    def sections(self) -> dict[str, tuple[str, ...]]:
        """Return the names of all commands by section, the steps last."""
        listed = {name for names in SECTIONS.values() for name in names}
        added = tuple(point.name for point in points("commands") if " " not in point.name)
        steps = tuple(name for name in self.list_commands(None) if name not in {*listed, *added})
        return SECTIONS | ({OTHERS: added} if added else {}) | {STEPS: steps}

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section, each with its summary; steps have their names only."""
        sections = self.sections()
        steps = sections.pop(STEPS)
        for heading, names in sections.items():
            with formatter.section(heading):
                commands = [self.get_command(context, name) for name in names]
                summaries = [command.get_short_help_str(limit=200) for command in commands]
                formatter.write_dl(list(zip(names, summaries, strict=True)))
        with formatter.section(STEPS):
            indent = " " * formatter.current_indent
            lines = textwrap.wrap(
                f"Snakemake calls these; `dpgrs STEP --help` describes one. {', '.join(steps)}",
                formatter.width,
                initial_indent=indent,
                subsequent_indent=indent,
                break_on_hyphens=False,
            )
            formatter.write("\n".join([*lines, ""]))

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except DpgrsError as error:
            fail(context, error, exit_code=error.exit_code)
        except OSError as error:
            # A path that is not there is misuse.
            fail(context, words_of(error), exit_code=2 if isinstance(error, FileNotFoundError) else 1)
        except ModuleNotFoundError as error:
            if (line := words_of_missing(error, context.invoked_subcommand)) is None:
                raise
            fail(context, line, exit_code=2)
        except MemoryError:
            # Not its own words, which may tell how many people there are.
            fail(context, OUT_OF_MEMORY, exit_code=1)
        except RuntimeError as error:
            if str(error) != NO_THREAD:
                raise
            fail(context, OUT_OF_MEMORY, exit_code=1)


def words_of(error: OSError) -> str:
    """Return the words of the operating system about an error, with its path."""
    if error.filename is None or error.strerror is None:
        return str(error) or type(error).__name__
    path = shown(str(error.filename), n_characters=200)
    return f"`{path}`: {error.strerror}. Correct the path, or mend what lies there."


def words_of_missing(error: ModuleNotFoundError, command: str | None) -> str | None:
    """Return which extra installs a library that a command lacks; None where none of ours does."""
    library = (error.name or "").partition(".")[0]
    for extra, modules in EXTRAS.items():
        if library in modules:
            # For other commands `workflow` holds the libraries of `score`, and further ones that they lack.
            extra = "workflow" if extra == "score" and command not in ("score", "release") else extra
            return f"`dpgrs {command}` needs the library {library}: pip install 'dpgrs[{extra}]'"
    return None


def fail(context: click.Context, error: DpgrsError | str, *, exit_code: int) -> NoReturn:
    """Print an error, each of its lines with the name of the program, and end; with -vv its traceback too."""
    if context.params["verbose"] > 1:
        traceback.print_exc()
    for line in str(error).splitlines():
        click.echo(f"dpgrs: {line}", err=True)
    sys.exit(exit_code)


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(dpgrs.__version__, prog_name="dpgrs")
@click.option("-v", "--verbose", count=True, help="More messages; -vv shows the traceback of an error.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.pass_context
def main(context: click.Context, verbose: int, quiet: bool) -> None:
    """Differentially private genomic risk scores from genotypes and many phenotypes."""
    # Results must not depend on the number of cores. Numpy, which reads these, is loaded by the verbs.
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    # Imports make a million objects and no garbage: fewer looks for it, and none at the end, save 0.4 s.
    gc.set_threshold(10_000, 50)
    atexit.register(gc.freeze)
    context.obj = {"quiet": quiet}


@main.command("audit")
@click.option("--mechanism", "mechanisms", multiple=True, help="Name of a private_* function; default: all.")
@click.option("--of-releases", is_flag=True, help="Leave out mechanisms that no release can use.")
@click.option("--draws", type=AT_LEAST_1, default=4000, show_default=True, help="Draws from each input.")
@click.option(
    "--confidence", type=SHARE, default=0.999999, show_default=True, help="Confidence of an observed loss."
)
@click.option(
    "--mode",
    type=click.Choice(["release", "benchmark"]),
    default="release",
    show_default=True,
    help="Mode whose code draws the noise.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the noise.")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", "is_markdown", is_flag=True, help="Print a Markdown table, one row per case.")
@click.option(
    "--output", type=click.Path(path_type=Path), help="File to write as JSON, instead of standard output."
)
@click.pass_obj
def audit_mechanisms(
    context: dict[str, Any],
    mechanisms: tuple[str, ...],
    of_releases: bool,
    mode: str,
    seed: int,
    is_json: bool,
    is_markdown: bool,
    output: Path | None,
    **options: Any,  # draws and confidence
) -> None:
    """Run mechanisms on worst-case neighbours: the claimed privacy loss, and the loss that is seen."""
    from dpgrs.config.study import StudyConfig
    from dpgrs.io.json_files import write_json
    from dpgrs.steps import audit
    from dpgrs.study.made_by import note, settings_along

    if output:
        audit_terms = StudyConfig.of(
            {"mode": mode, "seed": seed, "release": {"audit_draws": options["draws"]}}
        )
        provenance = settings_along(audit_terms, [], output=output, verb="audit")
        note(output, None)
    cases = audit.choose_cases(mechanisms, of_releases=of_releases)
    with click.progressbar(cases, label="Audits", file=sys.stderr, hidden=context["quiet"]) as bar:
        findings = [audit.run_audit(case, audit.noise_of(case, seed, mode=mode), **options) for case in bar]
    if output:
        write_json(output, findings)
    else:
        lay_out = audit.as_markdown if is_markdown else audit.as_table
        click.echo(json.dumps(findings, indent=2) if is_json else lay_out(findings))
    audit.require_within_claims(findings)
    if output:
        note(output, provenance)


for command in (
    centre,
    demo,
    init,
    key,
    ledger,
    plan,
    release,
    run,
    score,
    settings,
    store,
):
    main.add_command(command)
for command in (*FETCHING, *PEOPLE):
    main.add_command(command)
# Commands of other packages; `store imitate` is a command of the group `store`.
for point in points("commands"):
    *groups, name = point.name.split()
    group = main.commands[groups[0]] if groups else main
    group.add_command(point.load(), name)
