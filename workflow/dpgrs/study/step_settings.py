"""The settings of a study as one step sees them: those that it reads, and no others."""

import json

from dpgrs.config.study import StudyConfig
from dpgrs.errors import UsageError, shown
from dpgrs.study.verbs import part_of, read_verb

# What a verb that is run by hand takes besides the defaults: its files are no simulated ones.
OWN_FILES = {"cohort": {"source": "vcf"}}


def load_settings(settings_source: str | None, verb: str) -> StudyConfig:
    """Read the keys of a study's settings that a verb needs.

    They are given as JSON text of just these, as rules give it; as the path of a configuration, also of the
    resolved one that a run writes; or as None for the defaults. Text without a key, and a faulty
    configuration, are a UsageError.
    """
    reads = read_verb(verb).reads
    if settings_source is not None and settings_source.startswith("{"):
        try:
            values = json.loads(settings_source)
            # Of whole sections a rule gives what its job reads, which may be none.
            return StudyConfig.of(part_of(values, [key for key in reads if "." in key or key in values]))
        except (ValueError, KeyError, TypeError):
            raise UsageError(
                "not-settings",
                f"`--settings` must be what `{verb}` reads, got {shown(settings_source)}. "
                "Name a configuration.",
            ) from None
    from dpgrs.study.settings import resolve  # brings jsonschema, which rules need not wait for
    from dpgrs.study.settings_files import read_settings

    return StudyConfig.of(
        part_of(
            resolve(OWN_FILES if settings_source is None else read_settings(settings_source)).as_dict(), reads
        )
    )
