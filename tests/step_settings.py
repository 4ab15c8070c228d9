"""Settings as a step gets them, for tests that call it in this process."""

from dpgrs.study.settings import resolve
from dpgrs.study.step_settings import Settings
from dpgrs.study.verbs import part_of, read_verb


def settings_for(verb, **sections):
    """Return what a verb reads of a configuration, completed with the schema's defaults.

    Examples
    --------
    >>> settings_for("make-loadings", covariates={"pcs": 2}).covariates.pcs
    2
    """
    return Settings(part_of(resolve(sections), read_verb(verb).reads))
