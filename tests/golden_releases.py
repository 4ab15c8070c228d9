"""Small releases of every method that may be released, and digests of all that they draw and publish.

What may change, and when: docs/development.md, "Bytes that must not change".
"""

import gzip
import hashlib
import io
import json
import re
import zipfile
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import partial
from types import SimpleNamespace

import numpy as np

from case_studies import with_cases
from dpgrs import __version__
from dpgrs.genotypes.bits import pack, unpack
from dpgrs.io.covariates import Covariates
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import save_labelled
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.linalg.statistics import half_units
from dpgrs.methods.registry import METHODS
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.noise import sources
from dpgrs.privacy.noise.sources import ReleaseNoise
from dpgrs.steps import compute_statistics as statistics_step
from dpgrs.steps import measure_release as measure_step
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.steps.write_release import write_release
from dpgrs.study import provenance, training_data
from dpgrs.study.centre_sums import CentreSums, combined
from dpgrs.study.exact_statistics import exact_statistics
from dpgrs.study.public_files import save_effects
from dpgrs.study.settings import resolve
from dpgrs.study.variant_terms import gives_truncated_ld
from genome_studies import N_PANEL
from ledger_requests import new_ledger
from outcome_files import write_outcomes
from random_cohorts import random_bits
from step_settings import settings_for
from step_studies import N_PEOPLE, N_VARIANTS, NAMES, RAW, Study
from variant_sets import variants_in_memory

LOADINGS = "outcome\torigin\tfirst\tsecond\na\tx\t0.75\t0.25\nb\tx\t-0.5\t0.25\nc\tx\t0.25\t0.5\n"
SCALES = "outcome\tcentre\tscale\torigin\na\t0\t1\tx\nb\t0\t1\tx\nc\t0\t1\tx\n"
WRITTEN = ("settings.json", "accuracy.npz", "bundle")
BITS, FREQUENCY = random_bits(N_VARIANTS, 2 * N_PEOPLE), np.array([0.2, 0.4, 0.3, 0.45])
PEOPLE, CENTRES = np.arange(N_PEOPLE).astype(str), {"north": (0, 70), "south": (70, 220), "west": (220, 300)}
LIMITS = {"mu_squared": "100", "pure_epsilon": "4"}
EFFECTS_OF_ALT = np.array([[0.25, 0.0, -0.5, 0.125]])
EFFECTS = [{"name": "a.txt", "digest": "e" * 64, "matched": "4 of 4 variants"}]
# Their numbers follow from LAPACK, and are compared as numbers.
OF_FITS = re.compile(r"scores|standard_errors|plink|statistics/.*\.gz|constants|accuracy_sums|measures")
OF_COMMIT = "f" * 40
ARRAYS_OF_FITS = ("slopes", "squares", "effects", "noise_scale", "ld_score")
DECIMAL = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[-+]?\d+)?(?![\w.])")


@dataclass(frozen=True)
class Case:
    """What a small release has of its own, in place of 300 people's rows under full protection.

    Attributes
    ----------
    method : str
    rows : Rows
    sections : dict of sections of the settings, what differs in them.
    is_missing : bool, whether the second outcome is known of some alone, which is counted.
    is_loaded : bool, whether components are drawn in place of outcomes.
    has_cases : bool, whether two outcomes are 0/1, whose cases are counted.
    has_effects : bool, whether the fit starts from public effects.
    has_covariates : bool, whether there are two further columns of X, or a regression on them comes first.
    is_adjusted : bool, whether a regression comes first where the method would take columns.
    has_dosages : bool, whether genotypes are imputed dosages.
    has_fixed_sites : bool, whether the genotype files are stated to hold a fixed public list of sites.
    has_centres : bool, whether the sums are those of three centres.
    """

    method: str
    rows: str = "people"
    sections: dict = field(default_factory=dict)
    is_missing: bool = False
    is_loaded: bool = False
    has_cases: bool = False
    has_effects: bool = False
    has_covariates: bool = False
    is_adjusted: bool = False
    has_dosages: bool = False
    has_fixed_sites: bool = False
    has_centres: bool = False


def case(method, *, rows="people", bounds="tight", metrics="withheld", fit=None, public=None, **options):
    """Return a Case; options that are none of its own are keys of ``privacy``."""
    own = {name: options.pop(name) for name in list(options) if name in Case.__annotations__}
    privacy = {"bounds": bounds, "epsilon": 2.0, "accounting": "gdp", "neighbours": "add-remove"} | options
    if privacy.get("protection", ["full"]) != ["full"]:
        privacy["neighbours"] = "replace-one"
    if own.get("has_cases"):
        privacy["case_share"] = 0.25
    sections = {"privacy": privacy, "regression": fit or {}, "public": public or {}}
    if metrics == "charged":
        sections["evaluation"] = {"metrics": metrics, "epsilon": 0.5}
    if metrics == "public":
        sections["evaluation"] = {"metrics": metrics}
    return Case(method, rows=rows, sections=sections, **own)


LABEL = {
    "protection": ["label"],
    "public": {"genotypes": {"sha256": ["b" * 64], "origin": "a public panel"}},
}
FEATURE = {
    "protection": ["feature"],
    "public": {"outcomes": {"sha256": "c" * 64, "origin": "a public register"}},
}
WORST, REPLACE = {"bounds": "worst-case"}, {"neighbours": "replace-one"}
HAPLOTYPES, SEPARATE = {"rows": "haplotypes"}, {"outcome_budget": "separate"}
MISSING, MEASURED = {"is_missing": True}, {"metrics": "charged"}
gauss, projected = partial(case, "reusecov-gauss"), partial(case, "reusecov-proj")
blup, steered, on_ld = (partial(case, name) for name in ("blup", "blup-steered", "blup-ld"))
chosen, genome = partial(case, "k-blup"), partial(case, "blup-genome")
CASES = {
    "reusecov-gauss": gauss(),
    "reusecov-gauss, worst-case": gauss(**WORST),
    "reusecov-gauss, worst-case, haplotypes, replace-one": gauss(**WORST, **HAPLOTYPES, **REPLACE),
    "reusecov-gauss, haplotypes, missing": gauss(**HAPLOTYPES, **MISSING),
    "reusecov-gauss, haplotypes, person as unit": gauss(**HAPLOTYPES, unit="person"),
    "reusecov-gauss, separate, missing": gauss(**SEPARATE, **MISSING),
    "reusecov-gauss, components": gauss(is_loaded=True),
    "reusecov-gauss, cases": gauss(has_cases=True),
    "reusecov-gauss, charged accuracy": gauss(**MEASURED),
    "reusecov-gauss, charged accuracy, separate, replace-one": gauss(**MEASURED, **SEPARATE, **REPLACE),
    "reusecov-gauss, public accuracy": gauss(metrics="public"),
    "reusecov-gauss, covariates": gauss(has_covariates=True),
    "reusecov-gauss, dosages": gauss(has_dosages=True),
    "reusecov-gauss, dosages of fixed sites": gauss(has_dosages=True, has_fixed_sites=True),
    "reusecov-gauss, sums of three centres, missing": gauss(has_centres=True, **MISSING),
    "reusecov-gauss, lambda by evidence": gauss(fit={"lambda_from": "evidence"}),
    "reusecov-gauss, lambda by adassp": gauss(fit={"lambda_from": "adassp"}),
    "reusecov-gauss, label": gauss(**LABEL),
    "reusecov-gauss, feature": gauss(**FEATURE),
    "reusecov-proj, label, worst-case": projected(**LABEL, **WORST),
    "reusecov-proj, label, joint": projected(**LABEL, fit={"joint_projection": True}),
    "reusecov-proj, feature": projected(**FEATURE),
    "reusecov-ellipsoid, joint": case("reusecov-ellipsoid", fit={"joint_projection": True}),
    "reusecov-ellipsoid, worst-case": case("reusecov-ellipsoid", **WORST),
    "blup": blup(),
    "blup, worst-case, replace-one, stated heritability": blup(**WORST, **REPLACE, fit={"heritability": 0.5}),
    "blup, missing, public effects": blup(**MISSING, has_effects=True),
    "blup, label, missing": blup(**LABEL, **MISSING),
    "blup, feature": blup(**FEATURE),
    "blup-shared": case("blup-shared"),
    "blup-shared, label": case("blup-shared", **LABEL),
    "blup-steered, missing": steered(**MISSING),
    "blup-steered, worst-case, haplotypes": steered(**WORST, **HAPLOTYPES),
    "blup-steered, components, replace-one": steered(is_loaded=True, **REPLACE),
    "blup-steered, dosages": steered(has_dosages=True),
    "blup-ld, stated ancestry": on_ld(public={"same_ancestry": True}),
    "blup-ld, replace-one, missing": on_ld(**REPLACE, **MISSING),
    "blup-ld, public effects, charged accuracy": on_ld(has_effects=True, **MEASURED),
    "blup-ld, dosages": on_ld(has_dosages=True),
    "blup-hedged": case("blup-hedged"),
    "blup-genome": genome(),
    "blup-genome, replace-one, missing": genome(**REPLACE, **MISSING),
    "blup-genome, equal shares, missing": genome(direction_shares="equal", **MISSING),
    "blup-genome, second moments": genome(ld_share=0.25),
    "blup-genome, second moments, replace-one, missing": genome(ld_share=0.25, **REPLACE, **MISSING),
    "blup-genome, public effects": genome(has_effects=True),
    "blup-genome, less a public score, missing": genome(
        has_effects=True, public={"subtract": ["a"]}, **MISSING
    ),
    "adassp": case("adassp"),
    "adassp, worst-case, replace-one, missing": case("adassp", **WORST, **REPLACE, **MISSING),
    "blup, covariates first, missing, charged accuracy": blup(
        has_covariates=True, is_adjusted=True, **MISSING, **MEASURED
    ),
    "blup-ld, covariates first": on_ld(has_covariates=True),
    "k-blup": chosen(),
    "k-blup, covariates first, separate": chosen(has_covariates=True, **SEPARATE),
    "k-blup, worst-case, haplotypes, replace-one": chosen(**WORST, **HAPLOTYPES, **REPLACE),
    "k-blup, separate, missing, charged accuracy": chosen(**SEPARATE, **MISSING, **MEASURED),
}
_COVERED = {(own.method, *own.sections["privacy"].get("protection", ["full"])) for own in CASES.values()}
# A method without a case of its own has a plain one under each of its protections.
CASES |= {
    f"{method}, {protection}": case(method, **{"label": LABEL, "feature": FEATURE}.get(protection, {}))
    for method, row in METHODS.items()
    for protection in row.protections
    if row.may_be_released and (method, protection) not in _COVERED
}


class GoldenStudy(Study):
    """The small study by the settings of a case, with outcomes whose last digits no library decides."""

    def __init__(self, root, monkeypatch, own):
        self.rows, self._own, self._files = own.rows, own, {}
        super().__init__(root, monkeypatch)
        monkeypatch.setattr(provenance, "_commit", lambda: OF_COMMIT)
        self._outcomes = root / "outcomes.zarr"
        sections = own.sections | {"methods": [own.method], "release": RAW["release"] | {"audit_draws": 0}}
        sections["privacy"] = own.sections["privacy"] | {"ledger": str(root / "cohort.jsonl")}
        sections["cohort"] = {"rows": own.rows}
        is_counted = own.is_missing or own.has_cases
        sections["outcomes"] = {"missing": "counted" if is_counted else "none", "test_share": 0.25}
        self._write_outcomes(own)
        if own.has_cases:
            sections["outcomes"]["scales"] = with_cases(self)
        if own.is_loaded:
            sections["outcomes"]["loadings"] = str(root / "loadings.tsv")
        if own.has_covariates:
            sections["covariates"] = self._write_covariates() | ({"first": True} if own.is_adjusted else {})
        if own.has_dosages:
            sections["cohort"]["field"] = "DS"
            dosages = half_units(BITS, n_haplotypes=2 * N_PEOPLE, rows="people").astype(np.int16) * 1900
            self._set_variant_set(monkeypatch, dosages)
        if own.has_fixed_sites:
            sections["cohort"] |= {"source": "bgen", "fixed_sites": True}
        if own.has_centres:
            (root / "scales.tsv").write_text(SCALES)
            sections["cohort"] |= {"source": "vcf", "sums": "sums.npz"}
            sections["outcomes"] |= {"source": "file", "scales": str(root / "scales.tsv")}
            sections["public"] = {"sites": "sites.tsv", "origin": "a public panel"}
        if METHODS[own.method].takes_map:
            self._set_panel(monkeypatch)
        if METHODS[own.method].takes_ld:
            self._files["ld"] = root / ("map.npz" if METHODS[own.method].takes_map else "ld.npz")
        if own.has_effects:
            self._files["effects"] = root / "effects.npz"
            # Genomes take effects of one variant at a time.
            files = [one | {"is_marginal": METHODS[own.method].takes_map} for one in EFFECTS]
            save_effects(self._files["effects"], files, {N_VARIANTS: EFFECTS_OF_ALT})
        sections["outcomes"] |= RAW["outcomes"]
        self.config = resolve(RAW | sections)
        privacy = self.config.privacy
        account = Account(*privacy.protection, privacy.unit, privacy.neighbours)
        self.ledgers = {privacy.neighbours: new_ledger(root, account=account, **LIMITS)}

    def _write_outcomes(self, own):
        outcomes = Outcomes.load(self._outcomes).of_rows(slice(None))
        values = np.rint(outcomes.values[N_VARIANTS] * 64) / 64
        if own.is_missing:
            values[1, ::3] = np.nan
        person = np.arange(values.shape[1]) * N_PEOPLE // values.shape[1]
        changed = {"values": {N_VARIANTS: values}, "is_training": person % 4 > 0}
        if own.is_loaded:
            path = self.root / "loadings.tsv"
            path.write_text(LOADINGS)
            found = read_outcome_loadings(path)
            changed |= {"components": found.components, "loadings": found.of(NAMES)}
        write_outcomes(self._outcomes, replace(outcomes, **changed))

    def _write_covariates(self):
        person = np.arange(N_PEOPLE)
        units = np.array([person * 37 % 401 - 200, np.where(person % 5 == 0, 300, -75)], dtype=np.int16)
        constants = {"centre": np.array([50, 0.2]), "scale": np.array([10, 0.4]), "bound": 3.0}
        self.covariates, scales = self.root / "covariates.npz", self.root / "covariate_scales.tsv"
        Covariates(("age", "case"), units, **constants, rows="people").save(self.covariates)
        scales.write_text("covariate\tcentre\tscale\tprevalence\nage\t50\t10\tNA\ncase\tNA\tNA\t0.2\n")
        return {"file": "covariates.tsv", "columns": ["age", "case"], "scales": str(scales), "bound": 3.0}

    def _set_variant_set(self, monkeypatch, genotypes):
        variant_set = variants_in_memory(
            genotypes, of_size=np.arange, n_haplotypes=2 * N_PEOPLE, frequency=FREQUENCY, sample_id=PEOPLE
        )
        for module in (measure_step, statistics_step, training_data):
            monkeypatch.setattr(module, "VariantSet", SimpleNamespace(open=lambda path: variant_set))

    def _set_panel(self, monkeypatch):
        """Let the people of the map's panel be 500, whose alleles are chance."""
        alleles = np.random.default_rng(6).random((N_VARIANTS, 2 * N_PANEL)) < FREQUENCY[:, np.newaxis]
        known = {"variants": self.variant_set.variants, "frequency": FREQUENCY, "of_size": np.arange}
        panel = variants_in_memory(pack(alleles.astype(np.uint8)), n_haplotypes=2 * N_PANEL, **known)
        opened = SimpleNamespace(open=lambda path: panel)
        monkeypatch.setattr("dpgrs.steps.fit_weights.VariantSet", opened)

    def sum_up(self, config, *, count=3):
        """Compute the exact statistics, or add those of three centres."""
        output = super().sum_up(config, count=count)
        if self._own.has_centres:
            whole, settings = Outcomes.load(self._outcomes), settings_for("compute-statistics", config)
            parts = [
                (name, self._of_centre(name, whole, settings, slice(*people)))
                for name, people in CENTRES.items()
            ]
            combined(parts).statistics.save(output)
        return output

    def _of_centre(self, name, outcomes, settings, people):
        n_haplotypes = 2 * (people.stop - people.start)
        own = pack(unpack(BITS, 2 * N_PEOPLE)[:, 2 * people.start : 2 * people.stop])
        variant_set = variants_in_memory(
            own, of_size=np.arange, n_haplotypes=n_haplotypes, frequency=FREQUENCY
        )
        statistics = exact_statistics(settings, variant_set, outcomes.of_rows(people))
        return CentreSums(statistics, outcomes.of_rows(slice(0)), {}, (name,))

    def fit(self, config, noisy):
        """Fit the weights by what public files the case has; return their path."""
        output, files = self.root / "weights.npz", self._files | {"outcomes": self._outcomes}
        if config.covariates.adjusts_first:
            files |= {"adjusted": self.drawn_outcomes}
        if METHODS[config.methods[0]].takes_map:
            files |= {"panel": "panel"}
        settings = settings_for("fit-weights", config)
        fit_weights(settings, [noisy], **files, output=output)
        return output

    def measure(self, config, noisy):
        """Measure the weights on the people held out, at a charge, or on all as if they were public."""
        measure_step.measure_release(
            settings_for("measure-release", config),
            noisy,
            self._outcomes,
            self.fit(config, noisy),
            **self._files | {"variant_set": "variant_set", "sites": self.sites},
            covariates=self.covariates if config.covariates.adjusts_first else None,
            output=self.root / "metrics.tsv",
            accuracy=self.root / "accuracy.npz",
            events=self.root / "accuracy_events.json",
        )

    def publish(self):
        """Draw, measure what is to be measured, and write the bundle; return its folder."""
        noisy, (settings, accuracy, folder) = self.release(self.config), map(self.root.joinpath, WRITTEN)
        settings.write_text(json.dumps(self.config.as_dict()))
        save_labelled(accuracy, [])
        if self.config.evaluation.metrics != "withheld":
            self.measure(self.config, noisy)
        weights = self.fit(self.config, noisy)
        files = dict(self._files)
        if self.config.covariates.adjusts_first:
            files |= {"regression": self.root / "regression.npz"}
        if gives_truncated_ld(self.config):
            files |= {"truncated_ld": self.root / "truncated_ld.npz"}
        write_release(settings, self.sites, noisy, weights, accuracy, **files, output=folder)
        return folder

    @property
    def events(self):
        """What was drawn, a list of dicts, as jobs write it."""
        names = ("regression_events.json", "events.json", "accuracy_events.json")
        files = [self.root / name for name in names]
        labels = [label for file in files if file.is_file() for label in json.loads(file.read_text())]
        return [event for label in labels for event in label["events"]]


class Witness:
    """Notes what release noise is keyed by and what it gives.

    Attributes
    ----------
    keys : list of (statistic, the JSON values that the study key authenticates).
    outputs : list of (part, digests of what each of its draws gave), in the order of requests.
    """

    def __init__(self, monkeypatch):
        self.keys, self.outputs = [], []
        canonical, end = sources.canonical, ReleaseNoise.require_exhausted

        def noting(key):
            _, _, _, _, terms, *_ = key
            self.keys.append((terms["statistic"], key))
            return canonical(key)

        def ending(noise):
            self.outputs += noise.outputs.items()
            end(noise)

        monkeypatch.setattr(sources, "canonical", noting)
        monkeypatch.setattr(ReleaseNoise, "require_exhausted", ending)


def release(root, monkeypatch, own):
    """Make the small release of a case, and return its items.

    Parameters
    ----------
    root : pathlib.Path, an empty folder that others cannot read.
    monkeypatch : pytest's.
    own : Case

    Returns
    -------
    dict of (kind, name) to a digest; of kind ``numbers`` to a list of what is compared as numbers. The other
    kinds are ``key``, ``drawn`` and ``event`` of a statistic, ``identity`` of a part, and ``file``.
    """
    study, witness = GoldenStudy(root, monkeypatch, own), Witness(monkeypatch)
    folder = study.publish()
    ((_, ledger),) = study.ledgers.items()
    found = {kind: defaultdict(list) for kind in ("key", "drawn", "event", "identity")}
    for statistic, key in witness.keys:
        found["key"][statistic].append(key)
    for request in ledger.read().requests.values():
        kind, *_ = part = request.identity["part"]
        found["identity"][kind].append(request.identity)
        # A regression on covariates and X'Y are of the same part, the former first.
        place = next(place for place, (own, _) in enumerate(witness.outputs) if list(own) == part)
        _, outputs = witness.outputs.pop(place)
        for draw, output in zip(request.identity["draws"], outputs, strict=True):
            found["drawn"][draw["statistic"]].append(output)
    for event in study.events:
        found["event"][event["statistic"]].append(event)
    items = {
        (kind, name): short_digest(one) for kind, by_name in found.items() for name, one in by_name.items()
    }
    return items | items_of_files(folder)


def items_of_files(folder):
    """Return the items of a bundle; files of single outcomes are one item together."""
    texts, numbers = defaultdict(list), defaultdict(list)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        kind = name if path.parent == folder else f"{path.parent.name}/*{''.join(path.suffixes)}"
        text, found = in_parts(name, path.read_bytes())
        texts[kind].append([name, text])
        numbers[kind] += found
    items = {("file", kind): short_digest(one) for kind, one in texts.items()}
    return items | {("numbers", kind): summed_up(found) for kind, found in numbers.items() if found}


def in_parts(name, content):
    """Return what of a file's content does not follow from LAPACK, JSON values, and the numbers that do."""
    if name == "provenance.json":
        return list(json.loads(content)), []
    if name.endswith(".npz"):
        return in_arrays(content)
    head = ""
    if name.endswith(".gz"):
        head, content = content[:10].hex(), gzip.decompress(content)
    text = masked(name, content.decode())
    if not OF_FITS.match(name):
        return text, []
    lines, numbers = [head], []
    for line in text.splitlines(keepends=True):
        is_header = line.startswith("#") and not line.startswith("#constant=")
        numbers += [] if is_header else map(float, DECIMAL.findall(line))
        lines.append(line if is_header else DECIMAL.sub("?", line))
    return lines, numbers


def in_arrays(content):
    """Return the same of a file of arrays: what its archive says of them, and digests of those drawn."""
    parts, numbers = [], []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for one in archive.infolist():
            entry = [one.filename, one.date_time, one.compress_type, one.create_system, one.external_attr]
            array = np.load(io.BytesIO(archive.read(one)), allow_pickle=False)
            entry += [array.dtype.str, array.shape]
            if one.filename.removesuffix(".npy") in ARRAYS_OF_FITS:
                numbers += array.ravel().tolist()
            else:
                entry.append(hashlib.sha256(array.tobytes()).hexdigest())
            parts.append(entry)
    return parts, numbers


def masked(name, text):
    """Return a file's text without the version of dpgrs and digests of the bundle's files."""
    of_files = {"SHA256SUMS": "", "privacy_statement.json": '"files": {'}.get(name)
    if of_files is not None:
        text, start, digests = text.rpartition(of_files) if of_files else ("", "", text)
        text += start + re.sub(r"\b[0-9a-f]{64}\b", "-", digests)
    text = re.sub(r"(?m)^(data_file_md5sum: ).*", r"\1-", text)
    return text.replace(__version__, "-")


def short_digest(values):
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def summed_up(numbers):
    """Return how many numbers there are, their norm, and a sum of them with a weight for each."""
    values = np.array(numbers)
    mixed = values @ np.cos(np.arange(1, len(values) + 1))
    return [len(values), float(np.linalg.norm(values)), float(mixed)]
