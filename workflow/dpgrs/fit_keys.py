"""The keys of the configuration on which the fit of a release depends; this module imports nothing.

Fits, the settings that steps read, seals, identities, the schema of statements, refits and the check of a
bundle take the keys from here. To add a key, add an entry here and describe the key in the class of its
section (`dpgrs.config`): fits find its value in `FitTerms.further`.
"""


class FitKey:
    """What is known of a key.

    Parameters
    ----------
    schema : dict, the JSON schema of its value in a statement.
    joining : tuple of the values at which a fit takes what was drawn for other outcomes: then an outcome must
        not have a budget of its own.
    absent : tuple of the value at which no identity, seal or statement has the key, so that those of earlier
        releases stay as they are; empty of a key that all of them have.
    term : str, the attribute of `FitTerms` that holds its value; None of a key in `FitTerms.further`.
    reads : tuple of str, the keys that its value follows from, where this is not its own in ``regression``.
    """

    def __init__(self, schema, *, joining, absent=(), term=None, reads=()):
        self.schema, self.joining, self.absent, self.term, self.reads = schema, joining, absent, term, reads


FIT_KEYS = {
    "lambda": FitKey({"type": "number"}, joining=(), term="penalty"),
    "lambda_from": FitKey({"$ref": "#/$defs/text"}, joining=("evidence",), term="rule"),
    "heritability": FitKey({"type": ["number", "null"]}, joining=(None,), term="heritability"),
    "joint_projection": FitKey({"type": "boolean"}, joining=(True,), term="is_joint"),
    # That the people of the public reference are stated to be of the cohort's ancestry, and that the fit
    # takes this into account.
    "same_ancestry": FitKey(
        {"const": True},
        joining=(),
        absent=(False,),
        term="same_ancestry",
        reads=("cohort.source", "public.same_ancestry", "privacy.ld_share"),
    ),
    # The outcomes of which public scores were subtracted before they were clipped.
    "subtracted": FitKey(
        {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/text"}},
        joining=(),
        absent=([],),
        reads=("public.subtract",),
    ),
}


def regression_keys():
    """Return the keys that stand in the section ``regression``, a dict of name to FitKey."""
    return {name: key for name, key in FIT_KEYS.items() if not key.reads}


def reads_of_fit():
    """Return the dotted keys that the values of all keys follow from, a list."""
    return [path for name, key in FIT_KEYS.items() for path in key.reads or (f"regression.{name}",)]


def stated(values):
    """Return of the values of keys, a dict, those that identities, seals and statements have."""
    return {name: value for name, value in values.items() if value not in FIT_KEYS[name].absent}


def value_of(name, fit):
    """Return the value of a key in settings, or in a fit as a statement has it."""
    return fit[name] if name in fit else FIT_KEYS[name].absent[0]


def regression_of(fit):
    """Return the values of `regression_keys` in a fit as a statement has it, a dict."""
    return {name: value_of(name, fit) for name in regression_keys()}


def further_inputs(fit):
    """Return the public inputs that a statement names of keys without a term, a dict of name to text."""
    further = [name for name, key in regression_keys().items() if key.term is None and name in fit]
    return {f"regression.{name}": str(fit[name]) for name in further}
