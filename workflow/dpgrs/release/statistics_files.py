"""The noisy statistics of a release as files of its bundle: whoever has them can fit anything else on them.

What the mechanisms drew is private already, so all of it costs nothing.
"""

import hashlib
import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import yaml
from scipy.stats import norm

from dpgrs.errors import DpgrsError
from dpgrs.io.files import readable_arrays, save_arrays
from dpgrs.methods.mechanisms import drawn_names, mechanism_of_file, request_of
from dpgrs.methods.reusecov import NoisyStatistics
from dpgrs.release.marginal_effects import marginal_effects
from dpgrs.release.pgs_catalog import (
    CHROMOSOMES,
    file_rows,
    file_stems,
    format_weight,
    write_gzip,
)

FOLDER = "statistics"
ARRAYS, GRAM, CROSS = (
    f"{FOLDER}/{name}" for name in ("statistics.npz", "gram.parquet", "cross_products.parquet")
)
META = "-meta.yaml"
SITE_COLUMNS = ("contig", "position", "ref", "alt")
CROSS_PRODUCT = "cross product"
SSF_VERSION = "GWAS-SSF v1.0"
DIGITS = 10
# Of p, below which float64 has no numbers of full precision.
SMALLEST_LOG = -300


@dataclass(frozen=True)
class ReleasedStatistics:
    """What a release drew.

    Attributes
    ----------
    label : dict, of what was drawn, from `dpgrs.study.released.load_released`.
    noisy : what was drawn, such as NoisyStatistics.
    sites : pandas.DataFrame of contig, position, ref, alt and the public frequency of ALT, in the order of
        the columns of X.
    """

    label: dict
    noisy: object
    sites: pd.DataFrame

    @property
    def request(self):
        return request_of(self.label)

    @property
    def mechanism(self):
        return mechanism_of_file(self.label)

    @property
    def outcomes(self):
        """The names of the outcomes, or of the components that were drawn."""
        return drawn_names(self.label)

    @property
    def has_marginal(self):
        """Whether X'Y is of variants and outcomes: not where rows were turned, or components drawn."""
        noisy = self.noisy
        return isinstance(noisy, NoisyStatistics) and noisy.steering is None and noisy.loadings is None

    def marginal_effects(self):
        """Return the effects of single variants, a MarginalEffects, where there are such."""
        sds = [event["sigma"] for event in self.label["events"] if event["statistic"] == CROSS_PRODUCT]
        return marginal_effects(
            self.noisy,
            self.sites["frequency"].to_numpy(),
            rows=self.request.rows,
            # One draw is of all outcomes of a budget.
            cross_sd=np.repeat(sds, len(self.outcomes) // len(sds)),
        )

    def save(self, path):
        """Write them as arrays of plain names; the label is JSON."""
        arrays = {
            name: self.sites[name].astype(str).to_numpy(dtype=np.str_) for name in ("contig", "ref", "alt")
        }
        arrays |= {name: self.sites[name].to_numpy() for name in ("position", "frequency")}
        arrays |= self.mechanism.arrays(self.noisy)
        save_arrays(path, arrays | {"label": np.array(json.dumps(self.label, ensure_ascii=False))})

    @classmethod
    def load(cls, path):
        """Read what `save` wrote.

        Raises
        ------
        DpgrsError
            If it is no such file.
        """
        with readable_arrays(path) as found:
            arrays = dict(found)
        try:
            label = json.loads(str(arrays.pop("label")))
            sites = pd.DataFrame({name: arrays.pop(name) for name in (*SITE_COLUMNS, "frequency")})
            noisy = mechanism_of_file(label).restore(label, arrays)
        except (LookupError, ValueError, TypeError):
            raise DpgrsError(
                f"`{path}` must hold the statistics of a release, got another kind of file. Get it again."
            ) from None
        return cls(label, noisy, sites)


def has_statistics(label):
    """Tell whether what a release drew are statistics, on which others can fit: not where it drew fits."""
    return not mechanism_of_file(label).is_fitted


def write_statistics(folder, statistics, *, genome_build, published):
    """Write the statistics into a bundle.

    Parameters
    ----------
    folder : pathlib.Path, of the bundle.
    statistics : ReleasedStatistics
    genome_build : str
    published : str, ``YYYY-MM-DD``.

    Returns
    -------
    list of str or None, the file of marginal effects of each outcome, None where there are none.
    """
    (folder / FOLDER).mkdir()
    statistics.save(folder / ARRAYS)
    _write_parquet(folder, statistics)
    if not statistics.has_marginal:
        return [None] * len(statistics.label["outcomes"])
    effects, files = statistics.marginal_effects(), []
    for index, stem in enumerate(file_stems(statistics.outcomes)):
        file = f"{FOLDER}/{stem}.tsv.gz"
        write_gzip(folder / file, _summary_statistics(statistics.sites, effects, index))
        named = {"trait": statistics.outcomes[index], "n_people": int(effects.n_people[index])}
        told = _metadata(folder / file, genome_build=genome_build, published=published, **named)
        (folder / f"{file}{META}").write_text(told, encoding="utf-8", newline="\n")
        files.append(file)
    return files


def _write_parquet(folder, statistics):
    """Write X'X and X'Y with names, where they have a row for each variant."""
    request, noisy = statistics.request, statistics.noisy
    if request.n_covariates or not statistics.has_marginal:
        return
    named = statistics.sites.rename(
        columns={"contig": "chromosome", "ref": "other_allele", "alt": "effect_allele"}
    )
    named.assign(**dict(zip(statistics.outcomes, noisy.cross, strict=True))).to_parquet(folder / CROSS)
    if np.ndim(noisy.gram) == 2:
        names = [f"{row.contig}:{row.position}:{row.ref}:{row.alt}" for row in statistics.sites.itertuples()]
        table = pd.DataFrame(noisy.gram, columns=[*names, "intercept"])
        table.to_parquet(folder / GRAM)


def _summary_statistics(sites, effects, index):
    """Return the marginal effects of an outcome as GWAS-SSF, tab-separated text."""
    rows = file_rows(sites)
    places = rows["row"].to_numpy()
    beta, error = effects.beta[index][places], effects.standard_error[index][places]
    known = np.isfinite(error)
    rsid = rows["rsID"].where(rows["rsID"] != ".", "#NA")
    table = pd.DataFrame(
        {
            "chromosome": rows["chr_name"].map({name: place + 1 for place, name in enumerate(CHROMOSOMES)}),
            "base_pair_location": rows["chr_position"],
            "effect_allele": rows["effect_allele"],
            "other_allele": rows["other_allele"],
            "beta": list(map(_rounded, beta)),
            "standard_error": list(map(_rounded, error)),
            "effect_allele_frequency": list(map(_rounded, sites["frequency"].to_numpy()[places])),
            "p_value": list(map(_p_value, beta / error)),
            "rsid": rsid,
            "n": effects.n_people[index],
        }
    )[known]
    return table.to_csv(sep="\t", index=False, lineterminator="\n")


def _rounded(number):
    return format_weight(float(f"{number:.{DIGITS}g}"))


def _p_value(z):
    """Return the two-sided p of a normal deviate as text, also below what float64 holds."""
    log = (np.log(2) + norm.logsf(abs(z))) / np.log(10)
    if log > SMALLEST_LOG:
        return f"{10**log:.6g}"
    exponent = int(np.floor(log))
    return f"{10 ** (log - exponent):.5f}e{exponent}"


def _metadata(path, *, trait, n_people, genome_build, published):
    """Return what goes with a file of GWAS-SSF, YAML."""
    told = {
        "date_metadata_last_modified": published,
        "trait_description": [trait],
        "genome_assembly": genome_build,
        "coordinate_system": "1-based",
        "samples": [{"sample_size": n_people}],
        "data_file_name": path.name,
        "file_type": SSF_VERSION,
        "data_file_md5sum": hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest(),
        "analysis_software": "dpgrs",
        "is_harmonised": False,
        "is_sorted": True,
        "author_notes": (
            "Differentially private: effects and sample size hold noise, which is in the standard errors. "
            "Effect-allele frequencies are those of public people. See privacy_statement.json."
        ),
    }
    return yaml.safe_dump(told, sort_keys=False, allow_unicode=True)
