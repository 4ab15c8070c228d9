"""What the checks of one module of `dpgrs.preflight` say of a study."""

from dpgrs.preflight.checks import CHECKS
from dpgrs.preflight.inspection import Inspection


def found_by(module, config, *, tell=None, **known):
    """List the problems that a module's checks find.

    Parameters
    ----------
    module : module of `dpgrs.preflight`.
    config : dict from `dpgrs.study.settings.resolve`.
    tell : as in `dpgrs.preflight.checks.check`.
    known : values of attributes of the Inspection, such as `people`, in place of what its files say.
    """
    inspection = Inspection(config, tell=tell)
    for name, value in known.items():
        setattr(inspection, name, value)
    own = (check for check in CHECKS if module_of(check) == module.__name__)
    return [line for check in own for line in check.lines(inspection)]


def module_of(check):
    """Return the name of the module that a check's function is in."""
    return getattr(check.find, "func", check.find).__module__
