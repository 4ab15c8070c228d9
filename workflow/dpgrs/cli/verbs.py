"""The verbs of the workflow as commands: made from the signatures and docstrings of the steps."""

import importlib
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpgrs.errors import DpgrsError
from dpgrs.study.verbs import BEFORE_CHARGE, NEEDED, STUDY_SETTINGS, Parameter, Verb, read_verb

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

KINDS = {
    "Path": click.Path(path_type=Path),
    "int": click.IntRange(min=1),
    "str": click.STRING,
    "bool": click.BOOL,
}
GENOTYPES = "genotypes"  # the name of the user's genotype files in a verb
IS_REFERENCE = "is_reference"  # whether a verb reads people of the public reference
PUBLIC_FILES = ("sites", "loadings", "ld", "effects", "public_files")  # of a release, as its steps name them
HOW = "Study file (YAML), or the settings.json of a finished study. Default: the demo study."


def command_of(
    name: str,  # one of `dpgrs.study.verbs.verb_names`
) -> click.Command:
    """Return the command of a verb; only when it runs is its step imported."""
    verb = read_verb(name)

    @click.pass_obj
    def run(context: dict[str, Any], **arguments: Any) -> None:
        from dpgrs.privacy.private_folders import PRIVATE, close_folder, require_no_digests
        from dpgrs.study.input_files import (
            content_marks,
            file_versions,
            named_tables,
            require_same_versions,
            require_unchanged,
        )
        from dpgrs.study.made_by import (
            note,
            only_writer,
            require_folder_of,
            require_made_by,
            require_public,
            require_reference_apart,
            settings_along,
            study_of,
        )
        from dpgrs.study.step_settings import load_settings

        function_name = name.replace("-", "_")
        step = getattr(importlib.import_module(f"dpgrs.steps.{function_name}"), function_name)
        settings = load_settings(arguments.pop("settings"), name) if verb.reads else None
        files = _files(verb, arguments)
        # Bundles are of releases only, and the step that writes them reads the settings itself.
        if verb.rests_on and (settings is None or settings.mode == "release"):
            rests_on = [path for key in verb.rests_on for path in files.get(key, [])]
            study_settings = _settings_of_study(settings, arguments, folder=study_of(rests_on[0]))
            require_no_digests()
            require_public(path for key in PUBLIC_FILES for path in files.get(key, []))
            _require_loadings(study_settings, files)
            require_folder_of(study_of(rests_on[0]))
            # The step itself reads constants and loadings that the settings name.
            watched = [*rests_on, *map(Path, named_tables(study_settings))]
            versions = file_versions(watched)
            require_made_by(study_settings, rests_on)
            if verb.charges:
                arguments[BEFORE_CHARGE] = partial(require_same_versions, versions, watched)
            if verb.takes_study and study_settings is not settings:
                arguments[STUDY_SETTINGS] = study_settings
        # Elsewhere there are no provenance notes.
        products = [arguments[key] for key in verb.writes if arguments.get(key) and study_of(arguments[key])]
        provenance, marks = {}, {}
        if products:
            study = study_of(products[0])
            everything = [path for paths in files.values() for path in paths if path.exists()]
            close_folder(study / PRIVATE)
            options = {
                "genotypes": files.get(GENOTYPES, []),
                "is_reference": arguments.get(IS_REFERENCE, False),
            }
            marks = content_marks(settings, everything, study=study, **options)
        with ExitStack() as writers:
            for output in products:
                if IS_REFERENCE in arguments:
                    require_reference_apart(output, is_reference=arguments[IS_REFERENCE])
                writers.enter_context(only_writer(output))
                provenance[output] = settings_along(
                    settings, everything, output=output, marks=marks, verb=name
                )
                note(output, None)
            positional = [
                arguments.pop(parameter.name) for parameter in verb.parameters if parameter.is_argument
            ]
            if verb.reads:
                positional.insert(0, settings)
            if verb.shows_progress:
                arguments["progress"] = False if context["quiet"] else None
            counts = step(*positional, **arguments)
            for output in products:
                require_unchanged({key: [mark] for key, mark in marks.items()}, study=study)
                if (
                    settings_along(settings, everything, output=output, marks=marks, verb=name)
                    != provenance[output]
                ):
                    raise DpgrsError(
                        "inputs-changed-meanwhile",
                        f"What `{output}` is made from must stay as it is meanwhile, got other files or "
                        "another version of dpgrs. Run one study at a time in a folder, and run it again.",
                    )
                note(output, provenance[output])
        if counts is not None:
            click.echo(json.dumps(counts), err=True)  # counts, which the rules keep as a log

    options = [_option(parameter) for parameter in verb.parameters]
    if verb.reads:
        options.insert(0, click.Option(["--settings"], metavar="FILE", help=HOW))
    return click.Command(name, callback=run, params=options, help=verb.summary)


def _settings_of_study(
    settings: "StudyConfig | None", arguments: Mapping[str, Any], *, folder: Path | None
) -> "StudyConfig":
    """Return the settings of the study that runs; for a step that runs by itself, the settings that it reads.

    The folder names the study that runs: a file of settings there may be of another one.
    """
    from dpgrs.config.study import StudyConfig
    from dpgrs.io.json_files import read_json
    from dpgrs.study.made_by import own_settings
    from dpgrs.study.settings_files import settings_handed_over

    # The step that writes a bundle has them as a file.
    settings = settings or StudyConfig.of(read_json(arguments["settings"]))
    study = settings.study if folder is None else folder.name
    handed_over = settings_handed_over(study)
    if handed_over is None:
        return settings
    study_settings = StudyConfig.of(handed_over)
    study_keys = own_settings(study_settings)
    if differing := [key for key, text in own_settings(settings).items() if study_keys.get(key) != text]:
        raise DpgrsError(
            "settings-of-another-study",
            f"A step must have the settings of the study `{study}`, got others of "
            f"{', '.join(differing)}. Import a study once, remove its `settings.json`, and run it again.",
        )
    return study_settings


def _require_loadings(settings: "StudyConfig", files: Mapping[str, Sequence[Path]]) -> None:
    """Refuse to charge for principal components without their loadings, which are in a request's identity.

    Where metrics are not charged, neither sites nor loadings are read.
    """
    from dpgrs.study.made_by import own_settings

    has_components = own_settings(settings).get("covariates.pcs", "0") != "0"
    if has_components and "sites" in files and "loadings" not in files:
        raise DpgrsError(
            "loadings-missing",
            "`--loadings` must be given for `covariates.pcs`, got none, which is another request. "
            "Nothing was charged. Name the loadings of the study, `public/pca_loadings.tsv`.",
        )


def _files(verb: Verb, arguments: Mapping[str, Any]) -> dict[str, list[Path]]:
    """Return the files that a verb reads, by name."""
    names = [
        parameter.name
        for parameter in verb.parameters
        if "Path" in parameter.kind and parameter.name not in verb.writes
    ]
    paths_by_name = {name: arguments[name] for name in names if arguments[name]}
    return {name: [*paths] if isinstance(paths, tuple) else [paths] for name, paths in paths_by_name.items()}


def _option(parameter: Parameter) -> click.Parameter:
    """Return the argument or the option for a parameter of a verb."""
    kind, name = parameter.kind.removesuffix(" | None"), parameter.name
    is_list = kind.startswith("list[")
    kind_of_entry = KINDS[kind.removeprefix("list[").removesuffix("]")]
    if parameter.is_argument:
        is_needed = parameter.default is NEEDED
        return click.Argument([name], type=kind_of_entry, nargs=-1 if is_list else 1, required=is_needed)
    flag = f"--{name.replace('_', '-')}"
    help_text = parameter.help[:1].upper() + parameter.help[1:]
    if kind == "bool":
        return click.Option([flag, name], is_flag=True, default=parameter.default, help=help_text)
    is_needed = parameter.default is NEEDED
    default = None if is_needed or is_list else parameter.default
    help_text = f"{help_text} May be repeated." if is_list else help_text
    return click.Option(
        [flag, name],
        type=kind_of_entry,
        multiple=is_list,
        required=is_needed,
        default=default,
        help=help_text,
    )
