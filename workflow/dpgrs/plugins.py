"""What other installed packages add to this one, by their entry points."""

from functools import cache
from importlib.metadata import entry_points


def points(kind):
    """Return the entry points of one kind.

    Parameters
    ----------
    kind : str, ``methods``, ``selectors``, ``draws``, ``settings`` or ``commands``.

    Returns
    -------
    EntryPoints
    """
    return _all_points().select(group=f"dpgrs.{kind}")


@cache
def _all_points():
    # To find them takes 10 to 20 ms: every installed package has a file to read.
    return entry_points()
