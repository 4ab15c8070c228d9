"""The methods of a study: what each one protects, and how sure its noise is in a release."""

from dataclasses import dataclass

from dpgrs.types import Exactness, Protection


@dataclass(frozen=True)
class Method:
    """What is known of a method before it runs.

    Attributes
    ----------
    protections : tuple of Protection, those under which it exists.
    exactness : Exactness or None. A method without one draws noise that is for benchmarks alone, or none.
    """

    protections: tuple
    exactness: Exactness | None

    @property
    def may_be_released(self):
        """Whether its guarantee holds for the draws of a release."""
        return self.exactness is not None


METHODS = {
    "ols": Method((Protection.NONE,), None),
    "ridge": Method((Protection.NONE,), None),
    "reusecov-gauss": Method((Protection.FULL,), Exactness.EXACT),
}
