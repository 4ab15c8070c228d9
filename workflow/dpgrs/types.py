"""Words of the domain that more than one layer uses."""

from enum import StrEnum


class Rows(StrEnum):
    """What one row of the genotype matrix is."""

    HAPLOTYPES = "haplotypes"
    PEOPLE = "people"


class TableCheck(StrEnum):
    """A check of the tables of outcomes and covariates that a study may leave out."""

    PEOPLE = "people"
    VALUES = "values"
    SCALE = "scale"
    BINARY = "binary"


class Coding(StrEnum):
    """How alleles become numbers.

    Less 1/2; less a public frequency, with rows clipped at a public norm; or less the mean of the row.
    """

    HALF = "half"
    FREQUENCY = "frequency"
    ROW_CENTRED = "row-centred"


class Neighbours(StrEnum):
    """Which pairs of data sets the guarantee compares."""

    ADD_REMOVE = "add-remove"
    REPLACE_ONE = "replace-one"


class Unit(StrEnum):
    """Whose data one unit of privacy covers."""

    HAPLOTYPE = "haplotype"
    PERSON = "person"


class Protection(StrEnum):
    """The private data: features and outcomes, only features, or only outcomes."""

    FULL = "full"
    FEATURE = "feature"
    LABEL = "label"
    NONE = "none"

    def of_unit(self, *, has_covariates: bool, features: str = "genotypes") -> str:
        """Say which data of a unit are protected; covariates are columns of X, and go with the genotypes.

        Examples
        --------
        >>> Protection.FULL.of_unit(has_covariates=True)
        'genotypes, covariates and outcomes'
        """
        columns = [features, "covariates"] if has_covariates else [features]
        protected = {
            Protection.FULL: [*columns, "outcomes"],
            Protection.FEATURE: columns,
            Protection.LABEL: ["outcomes"],
        }
        *most, last = protected[self]
        return f"{', '.join(most)} and {last}" if most else last


class PairKernel(StrEnum):
    """What rows i and k add to a Kendall statistic of two of their values (docs/explanation/screening.md)."""

    BOUNDED = "bounded"  # (x_i - x_k)/range sign(y_i - y_k): a genotype and anything that has an order
    PRODUCT = "product"  # (x_i - x_k) (z_i - z_k)/range^2: two genotypes
    SIGN = "sign"  # sign(x_i - x_k) sign(y_i - y_k): values without a public range


class Selection(StrEnum):
    """How entries of high score are chosen in private."""

    PERMUTE_AND_FLIP = "permute-and-flip"  # never worse than Gumbel on average, and drawn exactly
    GUMBEL = "gumbel"  # the exponential mechanism; of bounded range, so that zCDP adds up to less


class Composition(StrEnum):
    """How the losses of many choices add up."""

    BASIC = "basic"  # epsilons add up
    ZCDP = "zcdp"  # squares of epsilons add up, at the cost of a delta: for many choices


class Accounting(StrEnum):
    """How (epsilon, delta) becomes noise: exact mu-GDP, or the papers' split of the budget."""

    GDP = "gdp"
    PAPER = "paper"


class Metrics(StrEnum):
    """How the accuracy of a release is told: not at all, at a charge, or of public people."""

    WITHHELD = "withheld"
    CHARGED = "charged"
    PUBLIC = "public"


class RidgeOf(StrEnum):
    """Which penalty of a ridge regression an attacker takes weights to have."""

    NOTHING = "nothing"
    LAMBDA = "lambda"  # of the settings
    HALF = "half"  # the penalty of a heritability of 1/2 without noise


class Exactness(StrEnum):
    """How sure a draw of a release is to have the law that its guarantee needs (docs/proofs/exact_noise.md).

    A draw that has none of these is only for benchmarks.
    """

    EXACT = "exact"  # only integers decide: rounded normal, discrete Laplace, permute-and-flip
    CERTIFIED = "certified"  # weights are real numbers with error bounds; bits are drawn until they decide
    GRIDDED = "gridded"  # real numbers are rounded to a grid; what that can move is in the sensitivity


class Bounds(StrEnum):
    """What rows are clipped at, publicly, before they are summed: the noise is proportional to it."""

    WORST_CASE = "worst-case"  # `half` coding, which no row exceeds, and the bound on every outcome
    TIGHT = "tight"  # about the root mean square of a row, by public frequencies and standardised outcomes
    PAPER = "paper"  # rows centred by their own mean, and the norm of X'X as a whole, as in the PRIMO paper


class Missing(StrEnum):
    """Whether outcomes may be missing: publicly stated, never found from the data."""

    NONE = "none"  # weights of an outcome shrink by the share of rows on which it is missing all the same
    COUNTED = "counted"  # the rows on which each is known are counted with noise, and weights rescaled


class Penalty(StrEnum):
    """Where the ridge penalty lambda of ReuseCov comes from."""

    FIXED = "fixed"  # `regression.lambda`
    ADASSP = "adassp"  # the spread of the noise of X'X (Wang 2018), its smallest eigenvalue taken as 0
    EVIDENCE = "evidence"  # the marginal likelihood of the released statistics


class FittedFrom(StrEnum):
    """What a method is fitted from: which sums, of which rows."""

    EXACT_SUMS = "exact sums"  # X'X and X'Y of all variants, without noise
    SHARED_SUMS = "shared sums"  # ReuseCov's noisy ones, which all such methods share
    OWN_SUMS = "own sums"  # noisy ones that are drawn for the method
    STEERED = "steered"  # X'X, and X'Y of steered rows
    PRODUCTS = "products"  # only X'Y of steered rows, beside public linkage disequilibrium
    GENOME = "genome"  # sums along a public map of the genome
    CHOSEN = "chosen"  # X'X and X'y of the variants that are chosen for each outcome
    ROWS = "rows"  # rows of people; only in benchmarks
