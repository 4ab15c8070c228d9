"""Leaks planted into the steps of a release: one bit of the exact statistics decides what is published.

The variable `LEAK` names one. `steps_in_turn.py` plants it; the net of replayed neighbours must find it.
"""

import gzip
import sys
from importlib import import_module

import numpy as np

LEAK = "DPGRS_TEST_LEAK"
EXACT = {}  # the sum of each exact statistic that was drawn from, by name


def is_odd():
    """Return the bit that leaks."""
    return sum(EXACT.values()) % 2 == 1


def at_draws(change):
    """Return a change of `NoiseSource.gaussian` by a function of the bit, the statistic and its terms."""

    def changed(gaussian):
        def draw(self, statistic, **terms):
            EXACT[terms["name"]] = int(np.sum(statistic))
            statistic, terms = change(int(np.sum(statistic)) % 2, statistic, terms)
            return gaussian(self, statistic, **terms)

        return draw

    return changed


def with_a_second_draw(gaussian):
    def draw(self, statistic, **terms):
        drawn = gaussian(self, statistic, **terms)
        return gaussian(self, statistic, **terms) if int(np.sum(statistic)) % 2 else drawn

    return draw


def at_texts(leak):
    """Return a change of how the texts of a bundle are written: afterwards something is done by the bit."""

    def changed(write):
        def write_text(path, text):
            write(path, text)
            if is_odd():
                leak(path)

        return write_text

    return changed


def with_time(write):
    def write_gzip(path, parts):
        with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=int(is_odd())) as file:
            file.writelines(parts)

    return write_gzip


DRAWS, TEXTS = "dpgrs.privacy.noise.base.NoiseSource.gaussian", "dpgrs.release.bundle._write_text"
NO_CHANGE = at_draws(lambda bit, statistic, terms: (statistic, terms))
LEAKS = {
    "noise scale": (
        DRAWS,
        at_draws(lambda bit, statistic, terms: (statistic, terms | {"mu": terms["mu"] * (1 - bit * 2**-40)})),
    ),
    "grid": (
        DRAWS,
        at_draws(
            lambda bit, statistic, terms: (
                np.asarray(statistic) << bit,
                terms | {"step": terms["step"] / 2**bit},
            )
        ),
    ),
    "counted loop": (DRAWS, with_a_second_draw),
    "sensitivity": (DRAWS, at_draws(lambda bit, statistic, terms: (2 * statistic, terms))),
    "order of rows": (
        "dpgrs.release.plain_tables.table_lines",
        lambda lines: lambda columns: lines([column[:: -1 if is_odd() else 1] for column in columns]),
    ),
    "file name": (
        "dpgrs.release.bundle.file_stems",
        lambda stems: lambda names: [f"{stem}{'_' * is_odd()}" for stem in stems(names)],
    ),
    "file mode": (TEXTS, at_texts(lambda path: path.chmod(0o640))),
    "log line": (TEXTS, at_texts(lambda path: print("odd"))),
    "time stamp": ("dpgrs.release.plain_tables.write_gzip", with_time),
    "exit status": (TEXTS, at_texts(lambda path: sys.exit(3))),
}


def plant(name):
    """Plant a leak into modules that were imported; the exact statistics are noted in any case."""
    place, change = LEAKS[name]
    if place != DRAWS:
        _replace(DRAWS, NO_CHANGE)
    _replace(place, change)


def _replace(place, change):
    owner, _, name = place.rpartition(".")
    module, _, last = owner.rpartition(".")
    found = getattr(import_module(module), last) if last[0].isupper() else import_module(owner)
    setattr(found, name, change(getattr(found, name)))
