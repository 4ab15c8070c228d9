"""Words of pages for the data of a study, genotypes or a table; no other module distinguishes the two."""

from typing import NamedTuple


class Words(NamedTuple):
    """Words of benchmarks' pages; the defaults are those of genotypes."""

    variant: str = "variant"  # what a column of X is
    features: str = "genotypes"  # what X holds, in the plural
    people: str = "people"  # whom the rows are of, in the plural
    row: str = ""  # what a row is; empty if the settings of genotypes say so
    axis: str = "chromosome"  # along what columns lie in figures
    order: str = "chromosomes side by side"  # how they lie there
    sites: str = "the list of sites with their alleles"  # what lists the columns
    expected: str = "the root mean square that allele frequencies let expect"  # by what rows are clipped
    centres: str = "The frequencies are"  # what `expected` follows from
    # Where the centres come from.
    stand_in: str = "the cohort’s own, a stand-in for those of a public panel, which a release has to take"
    # What a benchmark takes from its own data.
    own_data: str = " the choice of variants by their frequency, the alleles that fill missing ones,"
    # The same under tight bounds only.
    own_data_if_tight: str = (
        " the frequencies by which tight bounds code and clip rows (a stand-in for a public panel’s),"
    )
    # What would have to be fixed without a look at the data, the last under tight bounds.
    fixed: tuple[str, ...] = ("variants", "fill-ins", "frequencies")
    # Why the promise to one person does not cover those who are like them.
    relatives: str = "Families share stretches of genome"

    @property
    def variants(self) -> str:
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
    own_data="",
    own_data_if_tight="",
    fixed=("columns", "levels", "ranges"),
    relatives="Rows of one person or thing are like each other",
)
