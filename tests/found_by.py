"""What the checks of `dpgrs.preflight`, of one module or all, say of a study."""

import pytest

from dpgrs.errors import UsageError
from dpgrs.preflight.checks import CHECKS, check
from dpgrs.preflight.inspection import Inspection
from dpgrs.preflight.rules import Check


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
    return [line for one in own_checks(module) for line in one.lines(inspection)]


def own_checks(module):
    """Return the checks whose function is in a module, or that its rows make."""
    of_rows = {
        id(one.find)
        for rows in vars(module).values()
        if isinstance(rows, tuple)
        for one in rows
        if isinstance(one, Check)
    }
    return [one for one in CHECKS if id(one.find) in of_rows or module_of(one) == module.__name__]


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


def only(lines):
    """Return the one line of a list, which is one line of text."""
    assert len(lines) == 1, lines
    assert "\n" not in lines[0]
    return lines[0]
