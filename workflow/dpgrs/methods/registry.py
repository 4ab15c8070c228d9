"""The methods of a study: what each one protects, and how sure its noise is in a release."""

from dataclasses import dataclass

from dpgrs.types import Exactness, Neighbours, Protection, Selector

FULL, FEATURE, LABEL = Protection.FULL, Protection.FEATURE, Protection.LABEL
KENDALL, SIS, TWO_STAGE = Selector.KENDALL, Selector.SIS, Selector.TWO_STAGE


SUMS = ("private_gram", "private_cross_product")
OF_NAIVE = (*SUMS, "private_separate_statistics")
OF_CHOICES = (*SUMS, "private_kendall", "private_choices", "private_chosen_statistics")
OF_SETS = (*SUMS, "private_sis", "private_choices", "private_chosen_statistics")
OF_ADASSP = (*SUMS, "private_smallest_eigenvalue", "private_adassp")
OF_BOOSTED = ("private_boosted_adassp",)
OF_BOOSTED_CHOICES = ("private_kendall", "private_choices", *OF_BOOSTED)


@dataclass(frozen=True)
class Method:
    """What is known of a method before it runs.

    Attributes
    ----------
    protections : tuple of Protection, those under which it exists.
    exactness : Exactness or None. A method without one draws noise that is for benchmarks alone, or none.
    draws_itself : bool, whether it has a mechanism of its own, beside ReuseCov's noisy statistics.
    neighbours : Neighbours or None, the only ones for which what its secret sample hides is accounted; None
        for all.
    audited : tuple of str, the functions that draw for it in a release, beside `private_count`: a release
        audits them.
    selector : Selector or None, by what variants are chosen for each outcome, on which alone it is fitted.
    reads_rows : bool, whether it is fitted from rows, not from sums over them; it then counts no rows.
    """

    protections: tuple
    exactness: Exactness | None = None
    draws_itself: bool = False
    neighbours: Neighbours | None = None
    audited: tuple = (*SUMS, "private_statistics")
    selector: Selector | None = None
    reads_rows: bool = False

    @property
    def is_non_private(self):
        """Whether it is there to compare with."""
        return Protection.NONE in self.protections

    @property
    def is_screened(self):
        """Whether it is fitted on variants that were chosen for each outcome."""
        return self.selector is not None

    @property
    def draws_from_rows(self):
        """Whether a release draws for it from rows, as sums over all variants do not serve it."""
        return self.reads_rows or self.is_screened

    @property
    def may_be_released(self):
        """Whether its guarantee holds for the draws of a release, and a release offers it."""
        return self.exactness is not None


# Methods that share ReuseCov's statistics share their draws too: which of them is looked at costs nothing.
METHODS = {
    "ols": Method((Protection.NONE,)),
    "ridge": Method((Protection.NONE,)),
    "reusecov-gauss": Method((FULL, FEATURE, LABEL), Exactness.EXACT),
    "reusecov-proj": Method((FEATURE, LABEL)),
    "reusecov-ellipsoid": Method((FULL,), Exactness.EXACT),
    "blup": Method((FULL, FEATURE, LABEL), Exactness.EXACT),
    "naive": Method((FULL,), Exactness.EXACT, draws_itself=True, audited=OF_NAIVE),
    "adassp": Method((FULL,), Exactness.GRIDDED, draws_itself=True, audited=OF_ADASSP),
    "dp-sgd": Method((FULL,), draws_itself=True, neighbours=Neighbours.ADD_REMOVE),
    "reusecov-sketch": Method((FULL,), draws_itself=True, neighbours=Neighbours.REPLACE_ONE),
    "bas": Method((FULL,), Exactness.GRIDDED, draws_itself=True, audited=OF_BOOSTED, reads_rows=True),
    "tukey": Method((FULL,), draws_itself=True, reads_rows=True),
    "k-ols": Method((Protection.NONE,), selector=KENDALL),
    "k-blup": Method((FULL,), Exactness.EXACT, draws_itself=True, selector=KENDALL, audited=OF_CHOICES),
    "k-bas": Method(
        (FULL,),
        Exactness.GRIDDED,
        draws_itself=True,
        audited=OF_BOOSTED_CHOICES,
        selector=KENDALL,
        reads_rows=True,
    ),
    "k-tukey": Method((FULL,), draws_itself=True, selector=KENDALL, reads_rows=True),
    "l-ols": Method((Protection.NONE,), selector=TWO_STAGE),
    "l-blup": Method((FULL,), draws_itself=True, selector=TWO_STAGE),
    "s-ols": Method((Protection.NONE,), selector=SIS),
    "s-blup": Method((FULL,), Exactness.CERTIFIED, draws_itself=True, selector=SIS, audited=OF_SETS),
}
FROM_STATISTICS = tuple(
    name
    for name, method in METHODS.items()
    if not (method.draws_itself or method.is_non_private or method.is_screened)
)
RELEASED = tuple(name for name, method in METHODS.items() if method.may_be_released)
FROM_ROWS = tuple(name for name in RELEASED if METHODS[name].draws_from_rows)
SCREENED = tuple(name for name, method in METHODS.items() if method.is_screened)
BASELINES = tuple(name for name, method in METHODS.items() if method.draws_itself and not method.is_screened)

# Methods for a plain table (docs/tabular.md); what they are made of: `dpgrs.methods.compositions`.
TABULAR = ("nondp", "lasso", "bas", "tukey", "l-bas", "l-tukey", "k-bas", "k-tukey")
