"""The settings of a study: read by their types, completed with defaults, checked.

Snakemake hands over nested values of ``--config`` as text, and YAML 1.1 reads ``1e-6`` as text: types decide.
"""

import os.path
from collections.abc import Callable, Mapping
from functools import reduce
from operator import getitem
from typing import Any

from dpgrs.config.reading import Problem, read_section
from dpgrs.config.schema import load_schema
from dpgrs.config.study import PATHS, StudyConfig
from dpgrs.errors import UsageError
from dpgrs.io.genome_builds import SIMULATED_BUILD
from dpgrs.study.fetched_files import implied_populations
from dpgrs.study.implied_settings import with_adjustment, with_implied, with_site_sizes, with_table_sizes
from dpgrs.study.method_choice import with_chosen_methods
from dpgrs.types import Rows, Unit

UNIT_OF_ROWS = {Rows.HAPLOTYPES: Unit.HAPLOTYPE, Rows.PEOPLE: Unit.PERSON}


def resolve(raw: Mapping[str, Any]) -> StudyConfig:
    """Read, complete and check a configuration as Snakemake merged it, which is left as it is.

    The result has every key, and resolving it as a dict again changes nothing. All problems are one
    UsageError, a line each.

    >>> resolve({"privacy": {"epsilon": "2"}}).privacy.epsilon
    (2.0,)
    """
    config, problems = examine(raw)
    if problems:
        raise UsageError("settings-invalid", "\n".join(problem.line for problem in problems))
    return config


def examine(raw: Any) -> tuple[StudyConfig, list[Problem]]:
    """Do the work of `resolve`, but return the problems, too; keys in doubt have their defaults."""
    problems = []
    config = StudyConfig.of(read_section(with_implied(raw), load_schema(), "", problems))
    build = SIMULATED_BUILD if config.cohort.source == "simulate" else None
    config = config.changed(
        privacy={"unit": config.privacy.unit or UNIT_OF_ROWS[config.cohort.rows]},
        cohort={"populations": implied_populations(config.cohort)},
        release={"genome_build": config.release.genome_build or build},
    )
    config = with_site_sizes(with_table_sizes(_with_home(config), raw), raw)
    return with_adjustment(with_chosen_methods(config)), problems


def without_paths(config: StudyConfig) -> StudyConfig:
    """Return a resolved configuration without the paths of its files, which describe only a machine."""
    return _with_paths(config, lambda path: None)


def _with_home(config: StudyConfig) -> StudyConfig:
    """Let a leading ``~`` be the home folder: no shell has seen these paths."""
    # pathlib would raise on the home of somebody unknown, and write other paths anew.
    return _with_paths(config, lambda path: path and os.path.expanduser(path))  # noqa: PTH111


def _with_paths(config: StudyConfig, change: Callable[[str | None], str | None]) -> StudyConfig:
    """Return a resolved configuration in which a function has been applied to every path, also of a list."""
    values = config.as_dict()
    for key in PATHS:
        *sections, name = key.split(".")
        section = reduce(getitem, sections, values)
        value = section[name]
        section[name] = [change(path) for path in value] if isinstance(value, list) else change(value)
    return StudyConfig.of(values)
