"""Fits that use the draws of other outcomes: then no outcome has a budget of its own."""

from dpgrs.fit_keys import FIT_KEYS, value_of
from dpgrs.methods.registry import METHODS
from dpgrs.selection.registry import SELECTORS
from dpgrs.types import Protection

SHARED = "blup-shared"


def joins_outcomes(
    name: str,  # a method
    regression: dict,  # dict of the keys of a fit, as in a configuration or a statement
    *,
    protection: Protection,  # fits that take public outcomes take those of all
    has_effects: bool,  # whether a study has public effects; all outcomes together show how well they fit
) -> bool:
    """Tell whether the weights of an outcome depend on the draws of others.

    The weights of other outcomes then also carry the draws of one outcome: only the loss of all outcomes
    together bounds what the weights of one outcome reveal.
    """
    method = METHODS[name]
    if method.fits_each_outcome:
        return False
    dotted_names = [method.mechanism, method.fit, method.of_rows]
    if method.is_screened:
        dotted_names += [SELECTORS[method.selector].private, SELECTORS[method.selector].asked]
    if any(":" in dotted_name for dotted_name in dotted_names if dotted_name):
        return True  # of another package, which states nothing about this
    if method.takes_map:
        return True
    if not (method.is_post_processing or method.is_steered):
        return False
    is_always = method.is_steered or method.takes_ld or name == SHARED
    is_always |= method.takes_outcomes and protection == Protection.FEATURE
    is_always |= method.takes_effects and has_effects
    joining = {name: FIT_KEYS[name].joining for name in method.reads if name in FIT_KEYS}
    return is_always or any(
        value_of(name, regression) in values for name, values in joining.items() if values
    )
