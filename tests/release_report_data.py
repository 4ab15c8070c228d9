"""A study up to its release, as the pages of the release see it: bundle, public sites and metrics."""

from dataclasses import replace

import numpy as np
import pandas as pd

from dpgrs.io.files import write_table
from dpgrs.public_random import generator
from dpgrs.reporting.data import VARIANT_COLUMNS
from dpgrs.reporting.release_data import ReleaseData
from dpgrs.reporting.release_pages import outcome_writer, write_overview
from dpgrs.reporting.rendering import chunks
from dpgrs.statement.text import budget_in_words
from release_data import OUTCOMES, SITES, make_accuracy_event, make_bundle, make_events, make_terms

# Planted where the pages must not take them from.
SAMPLE_ID, EXACT_COUNT = "NA19240", 79_193

DRAWN = "R^2 {:.4f} with noise of standard deviation 0.0100, mean squared error {:.4f} with 0.0100"


def make_release(folder, *, outcomes=OUTCOMES, accuracy=None, terms=None, content=(), **scores):
    """Make ``release/``, ``public/sites.tsv`` and ``metrics.tsv`` in a folder; nothing is private in it.

    Parameters
    ----------
    folder : pathlib.Path, new.
    outcomes : tuple of str.
    accuracy : dict of r2 and mse, (n_outcomes,) each, that was charged for; default: withheld.
    terms : Terms of the release.
    content : dict of further fields of `StatementContent`.
    **scores : further fields of `Scores`.

    Returns
    -------
    dict of the arguments of `render_release_report`, with ``output`` still to be made.
    """
    (folder / "public").mkdir(parents=True)
    terms = terms or make_terms()
    content = {"outcomes": outcomes} | dict(content)
    if accuracy is not None:
        events = make_events(terms, n_outcomes=len(outcomes))
        events.append(make_accuracy_event(terms, n_outcomes=len(outcomes)))
        content["drawn"], terms = [(event, None) for event in events], replace(terms, epsilon=1.5)
        content["accuracy"] = [
            {
                "name": name,
                "value": "withheld: the noise drowns it" if np.isnan(r2) else DRAWN.format(r2, mse),
                "cost": "epsilon 0.8 at delta 0.000001, for all outcomes together",
            }
            for name, r2, mse in zip(outcomes, accuracy["r2"], accuracy["mse"], strict=True)
        ]
    bundle = make_bundle(
        folder,
        terms=terms,
        content=content,
        outcomes=outcomes,
        **{"weights": generator(3, "weights").normal(size=(len(outcomes), len(SITES)))} | scores,
    )
    sites, metrics = folder / "public" / "sites.tsv", folder / "metrics.tsv"
    frequency = np.linspace(0.021, 0.9, len(SITES))
    write_table(sites, SITES.assign(frequency=frequency, rank=range(len(SITES)), sample=SAMPLE_ID))
    write_table(metrics, _metrics(outcomes, accuracy or {"r2": np.nan, "mse": np.nan}))
    return {"bundle": bundle, "sites": sites, "metrics": metrics, "output": folder / "report"}


def make_data(statement, *, n_variants=8):
    """Make what pages show, without a bundle."""
    outcomes = statement["data_domain"]["outcomes"]
    score = {"file": "scores/of_each.txt.gz", "standard_errors": None}
    sites = SITES.iloc[np.arange(n_variants) % len(SITES)].assign(frequency=0.25)
    weights = np.arange(n_variants) - 1.5 * (np.arange(n_variants) % 2) * np.arange(n_variants)
    return ReleaseData(
        statement=statement | {"scores": [score] * len(outcomes)},
        bundle="../release/",
        variants=sites[list(VARIANT_COLUMNS)].reset_index(drop=True),
        weights=np.tile(weights, (len(outcomes), 1)),
        accuracy=pd.DataFrame(np.nan, index=outcomes, columns=["r2", "mse"]),
        budget=budget_in_words(statement),
        constants=pd.DataFrame({"constant": "-0.5"}, index=outcomes),
    )


def write_pages(data, folder):
    write_overview(data, folder)
    write = outcome_writer(data)
    for chunk in chunks(len(data.outcomes)):
        write(chunk.first, chunk.last, folder / "outcomes" / chunk.name)
    return folder


def _metrics(outcomes, accuracy):
    known = {"replicate": 1, "outcome": outcomes, "method": "reusecov-gauss", "n_rows": EXACT_COUNT}
    return pd.DataFrame(known | accuracy | {"mse_nonprivate": np.nan, "status": "withheld"})
