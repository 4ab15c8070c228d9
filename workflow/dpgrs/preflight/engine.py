"""What Snakemake can be asked for by which files of other settings would pass in a release."""

from collections import Counter
from pathlib import Path

from dpgrs.errors import UsageError

# Of every release that this process has read, the working folder and the study's folders: of several imports
# Snakemake keeps one check, the last.
RELEASES = []


def require_whole(modifiers):
    """Refuse a release as part of another workflow that changes its rules or moves its files.

    Parameters
    ----------
    modifiers : list of Snakemake's modifiers, one for each module and file around the rules.

    Raises
    ------
    UsageError
        Naming the words of the importing workflow.
    """
    for module in modifiers:
        if any(_moves(paths) for paths in _nested(module.path_modifier)):
            raise UsageError(
                "`prefix` and `replace_prefix` of the module must be left out in a release: folders would be "
                "closed, and records looked at, where no data lie."
            )
        if module.rule_whitelist is not None or module.rule_exclude_list:
            raise UsageError(
                "A release must be imported whole, by `use rule * from ...`, got some of its rules, and "
                "files of other settings would pass for what the others make. For resources there is "
                "`--set-resources`."
            )
        if [*module.default_input_flags, *module.default_output_flags]:
            raise UsageError(
                "`inputflags` and `outputflags` must be left out in a release: files of other settings would "
                "pass."
            )


def require_nothing_hidden(workflow, *, folders):
    """Refuse options that would hide by which settings files were made, or that they lie elsewhere.

    Parameters
    ----------
    workflow : Snakemake's own, once its options are known.
    folders : iterable of Path, working folders as rules of releases were read.

    Raises
    ------
    UsageError
        Naming the option.
    """
    execution = workflow.execution_settings
    hiding = {
        "--touch": workflow.touch,
        "--allowed-rules": workflow.dag_settings.allowed_rules,
        "--batch": workflow.dag_settings.batch,
        "--consider-ancient": workflow.workflow_settings.consider_ancient,
        "--trust-io-cache": workflow.dag_settings.trust_io_cache,
        "--default-storage-provider": workflow.storage_settings.default_storage_provider,
        "--drop-metadata": execution is not None and not execution.keep_metadata,
        "--ignore-incomplete": execution is not None and execution.ignore_incomplete,
    }
    if any(Path.cwd() != folder for folder in folders):
        raise UsageError(
            "`workdir` must be left out in a release: folders were closed, and records looked at, elsewhere. "
            "Name the folder by `--directory`."
        )
    for flag in filter(hiding.get, hiding):
        raise UsageError(
            f"`{flag}` must be left out in a release: nobody would know by which settings files were made."
        )


def require_one_maker(rules, *, places):
    """Refuse a release whose files two rules could make: by whose settings, an option of Snakemake would say.

    Parameters
    ----------
    rules : iterable of Snakemake's rules, of the whole workflow.
    places : tuple of str, folders of the study.

    Raises
    ------
    UsageError
        Naming a file.
    """
    made = Counter(str(output) for rule in rules for output in rule.output)
    for path, n_rules in made.items():
        if n_rules > 1 and path.startswith(places):
            raise UsageError(
                f"A release must be imported once, got {n_rules} rules that make `{path}`. Give the other "
                "import a `study` of its own."
            )


def _nested(paths):
    while paths is not None:
        yield paths
        paths = paths.inner_modifier


def _moves(paths):
    return paths.prefix is not None or paths._prefix_replacements is not None
