"""Files of public linkage disequilibrium."""

import numpy as np

from dpgrs.io.trials import load_labelled, save_labelled
from dpgrs.linalg.public_ld import PublicLd


def save_ld(path, found):
    """Write linkage disequilibrium of panels.

    Parameters
    ----------
    path : the file.
    found : dict of panel size to (PublicLd, SHA-256 in hexadecimal of the public rows that it is of).
    """
    items = []
    for size, (ld, digest) in found.items():
        arrays = {f"block{number}": block for number, block in enumerate(ld.blocks)}
        arrays |= {"starts": ld.starts, "components": ld.components}
        items.append(({"n_variants": size, "n_rows": ld.n_rows, "digest": digest}, arrays))
    save_labelled(path, items)


def load_ld(path):
    """Read what `save_ld` wrote."""
    found = {}
    for label, arrays in load_labelled(path):
        blocks = tuple(arrays[f"block{number}"] for number in range(len(arrays["starts"])))
        ld = PublicLd(np.asarray(arrays["starts"]), blocks, arrays["components"], label["n_rows"])
        found[label["n_variants"]] = ld, label["digest"]
    return found
