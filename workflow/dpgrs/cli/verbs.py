"""The verbs of the workflow as commands: made from the signatures and docstrings of the steps."""

import importlib
import json
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import click

from dpgrs.errors import DpgrsError
from dpgrs.study.verbs import BEFORE_CHARGE, NEEDED, read_verb

KINDS = {
    "Path": click.Path(path_type=Path),
    "int": click.IntRange(min=1),
    "str": click.STRING,
    "bool": click.BOOL,
}
GENOTYPES = "genotypes"  # what a verb names the user's genotype files
IS_REFERENCE = "is_reference"  # whether a verb reads people of the public reference
PUBLIC_FILES = ("sites", "loadings", "ld", "effects")  # of a release, as its steps name them
HOW = "Study file (YAML), or the settings.json of a finished study. Default: the demo study."


def command_of(name):
    """Make the command of a verb.

    Parameters
    ----------
    name : str, one of `dpgrs.study.verbs.verb_names`.

    Returns
    -------
    click.Command. Only when it runs is its step imported.
    """
    verb = read_verb(name)

    @click.pass_obj
    def run(context, **given):
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

        step = getattr(importlib.import_module(f"dpgrs.steps.{_own(name)}"), _own(name))
        settings = load_settings(given.pop("settings"), name) if verb.reads else None
        files = _files(verb, given)
        # Bundles are of releases only, and the step that writes them reads the settings itself.
        if verb.rests_on and (settings is None or settings.mode == "release"):
            rests_on = [path for one in verb.rests_on for path in files.get(one, [])]
            whole = _settings_of_study(settings, given, folder=study_of(rests_on[0]))
            require_no_digests()
            require_public(path for one in PUBLIC_FILES for path in files.get(one, []))
            _require_loadings(whole, files)
            require_folder_of(study_of(rests_on[0]))
            # The step itself reads constants and loadings that the settings name.
            watched = [*rests_on, *map(Path, named_tables(whole))]
            versions = file_versions(watched)
            require_made_by(whole, rests_on)
            if verb.charges:
                given[BEFORE_CHARGE] = partial(require_same_versions, versions, watched)
        # Elsewhere nothing is noted.
        products = [given[one] for one in verb.writes if given.get(one) and study_of(given[one])]
        made, marks = {}, {}
        if products:
            study = study_of(products[0])
            everything = [path for paths in files.values() for path in paths if path.exists()]
            close_folder(study / PRIVATE)
            options = {"genotypes": files.get(GENOTYPES, []), "is_reference": given.get(IS_REFERENCE, False)}
            marks = content_marks(settings, everything, study=study, **options)
        with ExitStack() as writers:
            for output in products:
                if IS_REFERENCE in given:
                    require_reference_apart(output, is_reference=given[IS_REFERENCE])
                writers.enter_context(only_writer(output))
                made[output] = settings_along(settings, everything, output=output, marks=marks, verb=name)
                note(output, None)
            places = [given.pop(one.name) for one in verb.parameters if one.is_argument]
            if verb.reads:
                places.insert(0, settings)
            if verb.shows_progress:
                given["progress"] = False if context["quiet"] else None
            found = step(*places, **given)
            for output in products:
                require_unchanged({key: [mark] for key, mark in marks.items()}, study=study)
                if (
                    settings_along(settings, everything, output=output, marks=marks, verb=name)
                    != made[output]
                ):
                    raise DpgrsError(
                        f"What `{output}` is made from must stay as it is meanwhile, got other files or "
                        "another version of dpgrs. Run one study at a time in a folder, and run it again."
                    )
                note(output, made[output])
        if found is not None:
            click.echo(json.dumps(found), err=True)  # counts, which the rules keep as a log

    options = [_option(one) for one in verb.parameters]
    if verb.reads:
        options.insert(0, click.Option(["--settings"], metavar="FILE", help=HOW))
    return click.Command(name, callback=run, params=options, help=verb.summary)


def _settings_of_study(settings, given, *, folder):
    """Return the settings of the study that runs; of a step that runs by itself, those that it reads.

    The study that runs is that of the folder: a file of settings there may be of another one.
    """
    from dpgrs.config.study import StudyConfig
    from dpgrs.io.json_files import read_json
    from dpgrs.study.made_by import own_settings
    from dpgrs.study.settings_files import settings_handed_over

    # The step that writes a bundle has them as a file.
    settings = settings or StudyConfig.of(read_json(given["settings"]))
    study = settings.study if folder is None else folder.name
    handed_over = settings_handed_over(study)
    if handed_over is None:
        return settings
    whole = StudyConfig.of(handed_over)
    wanted = own_settings(whole)
    if others := [key for key, value in own_settings(settings).items() if wanted.get(key) != value]:
        raise DpgrsError(
            f"A step must have the settings of the study `{study}`, got others of "
            f"{', '.join(others)}. Import a study once, remove its `settings.json`, and run it again."
        )
    return whole


def _require_loadings(settings, files):
    """Refuse to charge for principal components without their loadings, which are in a request's identity.

    Where metrics are not charged, neither sites nor loadings are read.
    """
    from dpgrs.study.made_by import own_settings

    has_components = own_settings(settings).get("covariates.pcs", "0") != "0"
    if has_components and "sites" in files and "loadings" not in files:
        raise DpgrsError(
            "`--loadings` must be given for `covariates.pcs`, got none, which is another request. "
            "Nothing was charged. Name the loadings of the study, `public/pca_loadings.tsv`."
        )


def _files(verb, given):
    """Return the files that a verb is given to read, a dict of lists by name."""
    names = [one.name for one in verb.parameters if "Path" in one.kind and one.name not in verb.writes]
    found = {name: given[name] for name in names if given[name]}
    return {name: [*paths] if isinstance(paths, tuple) else [paths] for name, paths in found.items()}


def _own(name):
    return name.replace("-", "_")


def _option(parameter):
    """Return the argument or the option of one thing that a verb takes."""
    kind, name = parameter.kind.removesuffix(" | None"), parameter.name
    is_list = kind.startswith("list[")
    own = KINDS[kind.removeprefix("list[").removesuffix("]")]
    if parameter.is_argument:
        needed = parameter.default is NEEDED
        return click.Argument([name], type=own, nargs=-1 if is_list else 1, required=needed)
    flag = f"--{name.replace('_', '-')}"
    said = parameter.help[:1].upper() + parameter.help[1:]
    if kind == "bool":
        return click.Option([flag, name], is_flag=True, default=parameter.default, help=said)
    needed = parameter.default is NEEDED
    default = None if needed or is_list else parameter.default
    said = f"{said} May be repeated." if is_list else said
    return click.Option([flag, name], type=own, multiple=is_list, required=needed, default=default, help=said)
