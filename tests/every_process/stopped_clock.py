"""A clock that stands still: the time of a ledger's entry enters the ids of requests, hence their noise."""

import os
from datetime import datetime, timedelta


class StoppedClock(datetime):
    """Stands for the `datetime` of the ledger, so that tests draw the same noise in every run."""

    @classmethod
    def now(cls, tz=None):
        """Return the one time there is, as `datetime.now` would, moved as a clock that is off."""
        off = timedelta(seconds=float(os.environ.get("DPGRS_TEST_CLOCK_OFF", 0)))
        return cls(2026, 11, 21, 12, tzinfo=tz) + off
