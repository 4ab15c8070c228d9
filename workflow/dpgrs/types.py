"""Words of the domain that more than one layer uses."""

from enum import StrEnum


class Rows(StrEnum):
    """What one row of the genotype matrix is."""

    HAPLOTYPES = "haplotypes"
    PEOPLE = "people"


class Neighbours(StrEnum):
    """Which pairs of data sets the guarantee compares."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"


class Unit(StrEnum):
    """Whose data one unit of privacy covers."""

    HAPLOTYPE = "haplotype"
    PERSON = "person"


class Protection(StrEnum):
    """What is private: features and outcomes, features alone, or outcomes alone."""

    FULL = "full"
    FEATURE = "feature"
    LABEL = "label"
    NONE = "none"


class Accounting(StrEnum):
    """How (epsilon, delta) becomes noise: exact mu-GDP, or the papers' split of the budget."""

    GDP = "gdp"
    PAPER = "paper"
