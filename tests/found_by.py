"""What the checks of `dpgrs.preflight`, of one module or all, say of a study."""

import pytest

from dpgrs.errors import UsageError
from dpgrs.preflight.checks import CHECKS, check
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
    own = (one for one in CHECKS if module_of(one) == module.__name__)
    return [line for one in own for line in one.lines(inspection)]


def module_of(one):
    """Return the name of the module that a check's function is in."""
    return getattr(one.find, "func", one.find).__module__


def merged(study, changes):
    """Lay changes over settings, section by section."""
    return study | {
        name: study.get(name, {}) | value if isinstance(value, dict) else value
        for name, value in changes.items()
    }


def all_found(settings):
    """Return the lines with which all checks together refuse settings, a list."""
    with pytest.raises(UsageError) as caught:
        check(settings)
    return str(caught.value).splitlines()
