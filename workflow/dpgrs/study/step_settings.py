"""The settings of a study as one step sees them: those that it reads, and no others."""

import json

from dpgrs.config.study import StudyConfig
from dpgrs.errors import UsageError, shown
from dpgrs.study.verbs import part_of, read_verb

# What a verb that is run by hand takes besides the defaults: its files are no simulated ones.
OWN_FILES = {"cohort": {"source": "vcf"}}


def load_settings(given, verb):
    """Read what a verb needs of the settings of a study.

    Parameters
    ----------
    given : JSON text of just that, as rules give it; or the path of a configuration, also of the resolved one
        that a run writes; or None for the defaults.
    verb : str

    Returns
    -------
    StudyConfig with these keys.

    Raises
    ------
    UsageError
        If the text lacks a key, or the configuration has faults.
    """
    reads = read_verb(verb).reads
    if given is not None and given.startswith("{"):
        try:
            values = json.loads(given)
            # Of whole sections a rule gives what its job reads, which may be none.
            return StudyConfig.of(part_of(values, [key for key in reads if "." in key or key in values]))
        except (ValueError, KeyError, TypeError):
            raise UsageError(
                f"`--settings` must be what `{verb}` reads, got {shown(given)}. Name a configuration."
            ) from None
    from dpgrs.study.settings import resolve  # brings jsonschema, which rules need not wait for
    from dpgrs.study.settings_files import read_settings

    return StudyConfig.of(
        part_of(resolve(OWN_FILES if given is None else read_settings(given)).as_dict(), reads)
    )
