"""What other installed packages add to this one, by their entry points."""

from functools import cache
from importlib.metadata import EntryPoints, entry_points


def points(
    kind: str,  # methods, selectors, settings or commands
) -> EntryPoints:
    """Return the entry points of one kind."""
    return _all_points().select(group=f"dpgrs.{kind}")


@cache
def _all_points() -> EntryPoints:
    # To find them takes 10 to 20 ms: every installed package has a file to read.
    return entry_points()  # type: ignore[return-value]  # the type of Python 3.11 has `select` as well
