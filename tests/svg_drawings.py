"""Reading plain SVG drawings: what was drawn where, in points."""

import re
import xml.etree.ElementTree as ET

import numpy as np

NAME = "{http://www.w3.org/2000/svg}"


def texts(svg):
    """Return a dict of the texts of a drawing to their (x, y)."""
    return {
        one.text: (float(one.get("x")), float(one.get("y"))) for one in ET.fromstring(svg).iter(NAME + "text")
    }


def paths(svg, *, commands=None, **attributes):
    """Return the paths with these attributes, and if given with just these commands, as text."""
    wanted = {name.replace("_", "-"): value for name, value in attributes.items()}
    drawing = ET.fromstring(svg)
    # Paths of one style stand in a group that has it.
    shared = {one: group.attrib for group in drawing.iter(NAME + "g") for one in group}
    found = [shared.get(one, {}) | one.attrib for one in drawing.iter(NAME + "path")]
    return [
        one["d"]
        for one in found
        if wanted.items() <= one.items()
        and commands in (None, "".join(sorted(set(re.findall("[A-Za-z]", one["d"])))))
    ]


def numbers(path, n_columns):
    """Return the numbers of a path, (n, n_columns)."""
    return np.array(re.findall(r"-?[\d.]+", path), dtype=float).reshape(-1, n_columns)


def centre(path):
    """Return the middle, (x, y), of a marker."""
    if "a" in path:
        x, y, radius = map(float, re.match(r"M(\S+) (\S+)a(\S+)", path).groups())
        return x + radius, y
    corners = numbers(path, 2)
    return tuple(((corners.min(axis=0) + corners.max(axis=0)) / 2).tolist())
