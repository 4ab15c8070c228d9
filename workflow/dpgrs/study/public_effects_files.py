"""Files of public effects, matched with the variants of a study."""

from dpgrs.io.replicates import load_labelled, save_labelled


def save_effects(path, files, values):
    """Write what public files tell.

    Parameters
    ----------
    path : the file.
    files : list of dict, of each public file its ``name``, its ``digest``, SHA-256 in hexadecimal, whether
        it ``is_marginal``, and what was ``matched``, in words.
    values : dict of number of variants to (n_files, n_variants) float64 effects, per copy of ALT.
    """
    items = [({"n_variants": size, "files": files}, {"values": own}) for size, own in values.items()]
    save_labelled(path, items)


def load_effects(path):
    """Read what `save_effects` wrote; nothing without a path."""
    if path is None:
        return [], {}
    found = load_labelled(path)
    return found[0][0]["files"], {label["n_variants"]: arrays["values"] for label, arrays in found}
