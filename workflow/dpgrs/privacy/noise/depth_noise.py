"""The part of the one door for deep points (docs/proofs/tukey.md): groups of units, and the point itself."""

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.events import DepthEvent
from dpgrs.privacy.noise.claims import scale_of
from dpgrs.privacy.sensitivity import Sensitivity

# A word of the key stream names a group.
LARGEST_NUMBER_OF_GROUPS = 2**32


class DeepNoise:
    """The part of `dpgrs.privacy.noise.base.NoiseSource` for deep points."""

    source: str
    _data: str | None

    def assign_groups(self, n_units: int, *, name: str, n_groups: int) -> np.ndarray:
        """Put every unit into a group at random, each by itself, in secret; it is not charged.

        The source must be one of `NoiseSource.on` all that the groups divide.

        Parameters
        ----------
        n_units : may be private.
        name : purpose of the groups: the same name and numbers give the same groups.
        n_groups : in [1, 2^32]

        Returns
        -------
        (n_units,) int64 in [0, n_groups), independent and uniform; zeros in a rehearsal.

        Raises
        ------
        UsageError
            If the data are not named, or for another number of groups.
        """
        if self._data is None:
            raise UsageError(
                "groups-without-data",
                f"The {name} must be of data that are named. Name what they divide by `on`.",
            )
        if not 1 <= n_groups <= LARGEST_NUMBER_OF_GROUPS:
            raise UsageError(
                "number-of-groups", f"`n_groups` must be from 1 to 2^32, got {n_groups}. Make fewer groups."
            )
        return self._assign(n_units, name, int(n_groups))

    def deep_point(
        self,
        models: np.ndarray,
        *,
        name: str,
        sensitivity: Sensitivity,
        epsilon: float,
        delta: float,
        is_safe: bool,
    ) -> tuple[list[int] | None, DepthEvent]:
        """Draw a point of the grid of depth floor(n_models/4) or more, each by e^(epsilon depth/2).

        Parameters
        ----------
        models : (n_models, d) float64 of whole numbers, the models in grid steps.
        name : of the point.
        sensitivity : of a depth, in linf.
        epsilon : > 0, the share of the budget, only of the draw.
        delta : of the draw and of the check before it.
        is_safe : whether a noisy check has passed. It is charged for all the same, as the cost of a draw must
            not depend on noise.

        Returns
        -------
        point : d ints in grid steps; None if it is not safe, and in a rehearsal.

        Raises
        ------
        UsageError
            If the models are not of whole numbers, the claim in another norm, or the share of the budget not
            positive.
        """
        scale_of(sensitivity, share=epsilon, norm=DepthEvent.norm, step=1.0, name=name)
        event = DepthEvent(
            statistic=name,
            sensitivity=sensitivity,
            step=1.0,
            entries=models.shape[1],
            source=self.source,
            epsilon=float(epsilon),
            delta=float(delta),
        )
        return self._deep_point(models, event, is_safe)

    def _assign(self, n_units: int, name: str, n_groups: int) -> np.ndarray:
        """Return a group for each of so many units."""
        raise NotImplementedError

    def _deep_point(
        self, models: np.ndarray, event: DepthEvent, is_safe: bool
    ) -> tuple[list[int] | None, DepthEvent]:
        """Draw a point by its depth if it is safe, and return it, or None, with the event."""
        raise NotImplementedError
