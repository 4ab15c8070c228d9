"""What pages call the things that a study is about, of genotypes or of a table: told apart here alone."""

from typing import NamedTuple


class Words(NamedTuple):
    """Words of benchmarks' pages; the defaults are those of genotypes.

    Attributes
    ----------
    variant : str, what a column of X is.
    features : str, what X holds, in the plural.
    people : str, whom the rows are of, in the plural.
    row : str, what a row is; empty where the settings of genotypes tell.
    axis, order : str, along what columns lie in figures, and how.
    sites : str, what says which columns there are.
    expected, centres, stand_in : str, by what rows are clipped, and where that is from.
    taken, taken_if_tight : str, what a benchmark takes from its own data, perhaps under tight bounds alone.
    fixed : tuple of str, what would have to be fixed without a look at the data, the last under tight bounds.
    relatives : str, why the promise to one is none to those who are like them.
    """

    variant: str = "variant"
    features: str = "genotypes"
    people: str = "people"
    row: str = ""
    axis: str = "chromosome"
    order: str = "chromosomes side by side"
    sites: str = "the list of sites with their alleles"
    expected: str = "the root mean square that allele frequencies let expect"
    centres: str = "The frequencies are"
    stand_in: str = "the cohort’s own, a stand-in for those of a public panel, which a release has to take"
    taken: str = " the choice of variants by their frequency, the alleles that fill missing ones,"
    taken_if_tight: str = (
        " the frequencies by which tight bounds code and clip rows (a stand-in for a public panel’s),"
    )
    fixed: tuple = ("variants", "fill-ins", "frequencies")
    relatives: str = "Families share stretches of genome"

    @property
    def variants(self):
        """The plural of `variant`."""
        return f"{self.variant}s"


GENOTYPE_WORDS = Words()
TABLE_WORDS = Words(
    variant="column",
    features="features",
    people="rows",
    row="one row of the table, which counts as one person",
    axis="column",
    order="in the order of the table",
    sites="the names of the columns",
    expected="the root mean square that public centres and ranges stand for, √(Σ 2p(1 − p))",
    centres="The centres and ranges are",
    stand_in="public ones, as the table of ranges states them",
    taken="",
    taken_if_tight="",
    fixed=("columns", "levels", "ranges"),
    relatives="Rows of one person or thing are like each other",
)
