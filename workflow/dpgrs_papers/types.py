"""Choices that only this package has."""

from enum import StrEnum


class TableSelector(StrEnum):
    """How features of a plain table are chosen by themselves."""

    SIS = "sis"
    TWO_STAGE = "two-stage"  # votes for the k largest coefficients
    SUPPORTS = "two-stage-supports"


class Scaling(StrEnum):
    """What DP-SIS centres and scales features and outcomes by."""

    PUBLIC = "public"  # public bounds
    PAPER = "paper"  # the data's own mean and maximum, as in the paper: not private


class LassoScaling(StrEnum):
    """What becomes of features and outcome before a Lasso."""

    STANDARDISED = "standardised"  # centred and scaled by the rows that are fitted
    RAW = "raw"  # only centred, as in the public code of DPKendall: the units of columns decide


class DepthCheck(StrEnum):
    """How the Tukey mechanism's check bounds the weight of deep points."""

    TIGHT = "tight"  # all of it (DPKendall paper)
    ORIGINAL = "original"  # as if all points of one depth or more had that depth (Tukey paper)
