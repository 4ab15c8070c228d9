"""Check the noisy statistics of a bundle: that they are of its draws, and that its effects follow from them.

By other code than what wrote them. Whether scores follow, too, takes the fits: `dpgrs.open_release` looks.
"""

import csv
import hashlib
import json
import math
import zipfile

import numpy as np

from dpgrs.release.folder_check import LARGEST_STATISTICS, MIB, unzip
from dpgrs.release.scoring_check import CHROMOSOMES
from dpgrs.types import Rows

ARRAYS = "statistics/statistics.npz"
TABLES = frozenset({ARRAYS, "statistics/gram.parquet", "statistics/cross_products.parquet"})
META, X = "-meta.yaml", "23"
TERMS = ("protection", "unit", "neighbours", "accounting", "rows")
# Effects are written with ten digits.
TOLERANCE = 1e-8


def statistics_problems(statement, files):
    """List what is wrong with the statistics of a bundle in which nothing else is.

    Parameters
    ----------
    statement : dict that fits the schema.
    files : dict of a file's name to its path, of the bundle.

    Returns
    -------
    list of str
    """
    named = [score.get("summary_statistics") for score in statement["scores"]]
    if ARRAYS not in files:
        return [f"{ARRAYS} must be there, as effects of single variants follow from it"] * any(named)
    try:
        arrays, label = _read(files[ARRAYS])
        problems = _origin_problems(statement, arrays, label)
        return problems or _effect_problems(statement, arrays, label, files)
    except (LookupError, ValueError, TypeError, ArithmeticError, OSError, zipfile.BadZipFile) as error:
        return [f"{ARRAYS} must hold the statistics of this release: {error}"]


def _read(path):
    """Return the arrays and the label; packed ones, which may be far larger than their file, are refused."""
    with zipfile.ZipFile(path) as members:
        if any(member.compress_type != zipfile.ZIP_STORED for member in members.infolist()):
            raise ValueError("its arrays must not be compressed")
        if sum(member.file_size for member in members.infolist()) > LARGEST_STATISTICS:
            raise ValueError(f"its arrays must have at most {LARGEST_STATISTICS // MIB} MiB")
    with np.load(path, allow_pickle=False) as found:
        arrays = dict(found)
    return arrays, json.loads(str(arrays.pop("label")))


def _sites(arrays):
    """Return the sites as scoring files name them, text, a list in the order of the columns of X."""
    alleles = (arrays[name].tolist() for name in ("contig", "position", "alt", "ref"))
    return [
        (chrom.removeprefix("chr"), str(place), alt, ref)
        for chrom, place, alt, ref in zip(*alleles, strict=True)
    ]


def _origin_problems(statement, arrays, label):
    """Find statistics of another release: of other terms, draws, outcomes or sites."""
    guarantee, domain, sites = statement["guarantee"], statement["data_domain"], _sites(arrays)
    in_order = sorted(sites, key=lambda site: (CHROMOSOMES[site[0]], int(site[1]), site[3], site[2]))
    lines = "".join("\t".join(site) + "\n" for site in in_order)
    drawn = [(event["statistic"], event["request"]) for event in label["events"]]
    stated = [(part["statistic"], part["request"]) for part in statement["mechanisms"]]
    pairs = {
        "terms": ([label["request"][name] for name in TERMS], [guarantee[name] for name in TERMS]),
        "outcomes": (label["outcomes"], domain["outcomes"]),
        "sites": (hashlib.sha256(lines.encode()).hexdigest(), domain["site_digest"]),
        # Charged accuracy follows, of which the statistics know nothing.
        "draws": (drawn, stated[: len(drawn)]),
    }
    return [
        f"{ARRAYS} must be of the statement's {name}" for name, (own, other) in pairs.items() if own != other
    ]


def _effect_problems(statement, arrays, label, files):
    """Find effects of single variants that do not follow from X'Y."""
    named = [score.get("summary_statistics") for score in statement["scores"]]
    if not any(named):
        return []
    sites = _sites(arrays)
    is_of_them = arrays["cross"].shape == (len(named), len(sites) + label["request"]["n_covariates"])
    if "directions" in arrays or not is_of_them:
        return ["effects of single variants must come from their products, got none of these"]
    problems, beta, error = [], *_effects(arrays, label, n_variants=len(sites))
    places = {(X if site[0] == "X" else site[0], *site[1:]): place for place, site in enumerate(sites)}
    for index, name in enumerate(named):
        if name is None or not {name, f"{name}{META}"} <= files.keys():
            problems.append(
                f"each outcome must have effects with their metadata, but not {index + 1} of them"
            )
            continue
        rows = csv.DictReader(unzip(files[name].read_bytes()).decode().splitlines(), delimiter="\t")
        columns = ("chromosome", "base_pair_location", "effect_allele", "other_allele")
        for row in rows:
            place = places[tuple(row[column] for column in columns)]
            pairs = ((row["beta"], beta), (row["standard_error"], error))
            if not all(
                math.isclose(float(held), own[index, place], rel_tol=TOLERANCE) for held, own in pairs
            ):
                problems.append(f"{name} must follow from {ARRAYS}")
                break
    return problems


def _effects(arrays, label, *, n_variants):
    """Return effects and their standard errors, each (n_outcomes, n_variants) (docs/release.md)."""
    frequency, cross = arrays["frequency"], arrays["cross"][:, :n_variants]
    of_person, alleles = (2, 1) if label["request"]["rows"] == Rows.HAPLOTYPES else (1, 2)
    variance, n = alleles * frequency * (1 - frequency), label["n"]
    mean = alleles * (frequency - 0.5) - arrays.get("origin", np.zeros(len(cross[0])))[:n_variants]
    known = np.minimum(arrays.get("observed", np.full(len(cross), n)), n)[:, np.newaxis]
    factor = n / known / arrays.get("slopes", np.ones(len(cross)))[:, np.newaxis]
    sigmas = [event["sigma"] for event in label["events"] if event["statistic"] == "cross product"]
    noise = np.repeat(sigmas, len(cross) // len(sigmas))[:, np.newaxis]
    squares = known * (variance + of_person * mean**2) + noise**2
    with np.errstate(divide="ignore", invalid="ignore"):
        return factor * cross / (n * variance), factor * np.sqrt(squares) / (n * variance)
