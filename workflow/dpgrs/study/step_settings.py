"""The settings of a study as one step sees them: those that it reads, and no others."""

import json

from dpgrs.errors import UsageError, shown
from dpgrs.study.verbs import part_of, read_verb

# What a verb that is run by hand takes besides the defaults: its files are no simulated ones.
OWN_FILES = {"cohort": {"source": "vcf"}}


class Settings:
    """A section of settings: its keys are attributes, lists are tuples, and nothing can be set.

    Parameters
    ----------
    values : dict, nested, of JSON values.
    place : str, dotted path of the section.

    Examples
    --------
    >>> Settings({"variants": {"size": [10, 20]}}).variants.size
    (10, 20)
    """

    def __init__(self, values, place=""):
        frozen = {name: _frozen(value, f"{place}{name}.") for name, value in values.items()}
        self.__dict__.update(frozen, _place=place)

    def __setattr__(self, name, value):
        raise AttributeError(f"Settings must stay as they are, got another `{self._place}{name}`.")

    def __getattr__(self, name):
        raise AttributeError(f"`{self._place}{name}` must be among the settings that the step READS.")

    def __setstate__(self, state):
        # Else pickle, which has no `_place` yet, would ask `__getattr__` for this method for ever.
        self.__dict__.update(state)

    def keys(self):
        """Return the names of the keys, so that a section can be given as keywords."""
        return [name for name in vars(self) if name != "_place"]

    def as_dict(self):
        """Return the section as nested dicts."""
        values = ((name, getattr(self, name)) for name in self.keys())
        return {name: value.as_dict() if isinstance(value, Settings) else value for name, value in values}

    def __getitem__(self, name):
        """Return the value of a key that is no name in Python, such as ``lambda``."""
        return getattr(self, name)


def load_settings(given, verb):
    """Read what a verb needs of the settings of a study.

    Parameters
    ----------
    given : JSON text of just that, as rules give it; or the path of a configuration, also of the resolved one
        that a run writes; or None for the defaults.
    verb : str

    Returns
    -------
    Settings

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
            return Settings(part_of(values, [key for key in reads if "." in key or key in values]))
        except (ValueError, KeyError, TypeError):
            raise UsageError(
                f"`--settings` must be what `{verb}` reads, got {shown(given)}. Name a configuration."
            ) from None
    from dpgrs.study.settings import resolve  # brings jsonschema, which rules need not wait for
    from dpgrs.study.settings_files import read_settings

    return Settings(part_of(resolve(OWN_FILES if given is None else read_settings(given)), reads))


def _frozen(value, place):
    if isinstance(value, dict):
        return Settings(value, place)
    return tuple(_frozen(one, place) for one in value) if isinstance(value, list | tuple) else value
