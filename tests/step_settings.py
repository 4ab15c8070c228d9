"""Settings as a step gets them, for tests that call it in this process."""

from dpgrs.config.study import StudyConfig
from dpgrs.study.settings import resolve
from dpgrs.study.verbs import part_of, read_verb


def settings_for(verb, config=None, **sections):
    """Return what a verb reads of a StudyConfig, or of sections that are completed with defaults.

    Examples
    --------
    >>> settings_for("make-loadings", covariates={"pcs": 2}).covariates.pcs
    2
    """
    config = config or resolve(sections)
    return StudyConfig.of(part_of(config.as_dict(), read_verb(verb).reads))
