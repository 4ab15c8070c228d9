"""A small study whose steps run in this process, for releases without Snakemake."""

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd

from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import save_labelled
from dpgrs.io.sites import write_sites
from dpgrs.linalg.ld_estimation import public_ld
from dpgrs.linalg.statistics import coded_rows
from dpgrs.methods.covariate_mechanism import CovariateRegression
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.methods.registry import METHODS
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.noise.study_key import VARIABLE
from dpgrs.steps import compute_statistics as statistics_step
from dpgrs.steps import measure_release as measure_step
from dpgrs.steps.adjust_outcomes import adjust_outcomes
from dpgrs.steps.draw import draw
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.steps.write_release import write_release
from dpgrs.study import training_data
from dpgrs.study.public_files import save_ld
from dpgrs.study.requests import is_measured_again
from dpgrs.study.settings import resolve
from dpgrs.verify.bundle import verify_release
from genome_studies import sum_along_map, write_map
from ledger_requests import DATASET, create_fixed_key, new_ledger
from outcome_files import changed_outcomes, write_outcomes
from random_cohorts import random_bits
from release_studies import CURATION
from step_settings import settings_for
from variant_sets import variants_in_memory

N_VARIANTS, N_PEOPLE, NAMES = 4, 300, ("a", "b", "c")
RAW = {
    "mode": "release",
    "dataset": DATASET | {"version": "1"},
    "cohort": {"rows": "people"},
    "variants": {"size": N_VARIANTS},
    "outcomes": {"count": 3},
    "screening": {"size": 2, "share": 0.25},
    "release": CURATION,
}


class Study:
    """Four variants of 300 people, three outcomes, and a ledger for each relation of neighbours.

    Attributes
    ----------
    root : folder of all files.
    rows : str, what a row is.
    covariates : path of covariates, further columns of X; None without.
    with_covariates : dict, the section of the settings that goes with them.
    """

    rows, covariates, with_covariates = "people", None, {}

    def __init__(self, root, monkeypatch):
        monkeypatch.setenv(VARIABLE, str(root / "key" / "study.key"))
        # Snakemake's records are looked for here.
        monkeypatch.chdir(root)
        create_fixed_key()
        self.root, self.sites, self.ledgers = root, root / "sites.tsv", {}
        self.drawn_outcomes = root / "outcomes.zarr"
        bits = random_bits(N_VARIANTS, 2 * N_PEOPLE)
        frequency = np.array([0.2, 0.4, 0.3, 0.45])
        self.X = coded_rows(bits, n_haplotypes=2 * N_PEOPLE, rows=self.rows)
        variants = pd.DataFrame({"contig": ["1"] * N_VARIANTS, "position": range(10, 14)})
        self.variant_set = variant_set = variants_in_memory(
            bits,
            variants=variants,
            of_size=lambda size: np.arange(size),
            n_haplotypes=2 * N_PEOPLE,
            sample_id=np.arange(N_PEOPLE).astype(str),
            frequency=frequency,
        )
        for module in (measure_step, statistics_step, training_data):
            monkeypatch.setattr(module, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
        places = {"contig": "1", "position": range(10, 14), "id": ".", "ref": "A", "alt": "C"}
        write_sites(self.sites, pd.DataFrame({**places, "frequency": frequency, "rank": range(4)}))
        sites = {"contig": np.ones(4), "position": np.arange(4)}
        public = public_ld(self.X - self.X.mean(axis=0), **sites, rows_per_person=1)
        save_ld(root / "ld.npz", {N_VARIANTS: (public, "a" * 64)})
        values = np.random.default_rng(5).standard_normal((3, len(self.X)))
        everybody = np.ones(len(self.X), dtype=bool)
        Outcomes(NAMES, {N_VARIANTS: values}, {}, everybody, self.rows).save(root / "outcomes.zarr")

    def hide_outcomes(self):
        """Leave the second outcome known of two thirds of the people."""
        with changed_outcomes(self.root / "outcomes.zarr") as outcomes:
            outcomes.values[N_VARIANTS][1, ::3] = np.nan

    def settings(self, method, *, pure_epsilon="0", missing="none", **privacy):
        privacy = {"epsilon": 2, "bounds": "worst-case", "neighbours": "add-remove"} | privacy
        neighbours = privacy["neighbours"]
        if neighbours not in self.ledgers:
            folder = self.root / neighbours
            folder.mkdir()
            account = Account("full", "person", neighbours)
            self.ledgers[neighbours] = new_ledger(
                folder, account=account, mu_squared="4", pure_epsilon=pure_epsilon
            )
        path = str(self.ledgers[neighbours].path)
        named = {"methods": [method], "privacy": privacy | {"ledger": path}}
        named |= {"outcomes": RAW["outcomes"] | {"missing": missing}, "cohort": {"rows": self.rows}}
        return resolve(RAW | named | {"covariates": self.with_covariates})

    def ledger(self, config):
        return self.ledgers[config.privacy.neighbours]

    def sum_up(self, config, *, count=3):
        """Compute the exact statistics; return the path."""
        output, config = self.root / "statistics.npz", config.changed(outcomes={"count": [count]})
        settings = settings_for("compute-statistics", config)
        files = {"covariates": None if config.covariates.adjusts_first else self.covariates, "output": output}
        statistics_step.compute_statistics(settings, "variant_set", self.drawn_outcomes, **files)
        return output

    def release(self, config, *, count=3, loadings=None, **options):
        """Release as the rule does, of two variants if the method chooses; return the path.

        `options` are further arguments of the step that draws.
        """
        mechanism, output = mechanism_of(config.methods[0]), self.root / "noisy.npz"
        places = {"statistics": self.root / "statistics.npz", "variant_set": "variant_set"}
        places["ld"] = self.root / "ld.npz"
        if config.covariates.adjusts_first:
            self.adjust(config, count=count)
        if "statistics" in mechanism.takes:
            self.sum_up(config, count=count)
        if "chromosomes" in mechanism.takes:
            places |= sum_along_map(self, config, count=count)
        takes = mechanism.takes
        if options.get("study_settings") and is_measured_again(options["study_settings"]):
            takes += ("variant_set",)
        draw(
            settings_for("draw", config.changed(outcomes={"count": [count]})),
            self.drawn_outcomes,
            mechanism=mechanism.name,
            method=[method for method in mechanism.drawn_for(config.methods) if method],
            **{name: places[name] for name in takes if name in places},
            sites=self.sites,
            loadings=loadings,
            output=output,
            events=self.root / "events.json",
            **options,
        )
        return output

    def adjust(self, config, *, count=3):
        """Release a regression on covariates, whose path is returned, and adjust the outcomes by it."""
        settings = config.changed(outcomes={"count": [count]})
        drawn, self.drawn_outcomes = self.root / "regression.npz", self.root / "adjusted.zarr"
        outcomes, known = self.root / "outcomes.zarr", {"covariates": self.covariates, "sites": self.sites}
        known |= {"variant_set": "variant_set"}
        if METHODS[config.methods[0]].takes_map:
            known["ld"] = write_map(self, settings, count=count)
        events = self.root / "regression_events.json"
        mechanism = CovariateRegression.name
        terms = known | {"mechanism": mechanism, "output": drawn, "events": events}
        draw(settings_for("draw", settings), outcomes, **terms)
        shutil.rmtree(self.drawn_outcomes, ignore_errors=True)
        terms = {"drawn": drawn, "output": self.drawn_outcomes}
        adjust_outcomes(settings_for("adjust-outcomes", settings), outcomes, self.covariates, **terms)
        return drawn

    def fit(self, config, noisy):
        """Fit the weights; return their path."""
        settings, output = settings_for("fit-weights", config), self.root / "weights.npz"
        fit_weights(settings, [noisy], output=output)
        return output

    def hold_out(self):
        """Hold every third person out."""
        path = self.root / "outcomes.zarr"
        outcomes = Outcomes.load(path).of_rows(slice(None))
        write_outcomes(path, replace(outcomes, is_training=np.arange(N_PEOPLE) % 3 > 0))

    def measure(self, config, noisy, *, skipped=0):
        """Fit, and measure the weights on the people held out; return the path of the accuracy.

        If nobody is, everybody counts as held out. The first of the outcomes' rows can then be skipped, so
        that the files are not of the same people.
        """
        held_out = self.root / "outcomes.zarr"
        if (outcomes := Outcomes.load(held_out)).is_training.all():
            held_out, values = self.root / "held_out.zarr", outcomes.values
            values = {size: one[:, skipped:] for size, one in values.items()}
            nobody = np.zeros(N_PEOPLE - skipped, dtype=bool)
            write_outcomes(held_out, Outcomes(NAMES, values, {}, nobody, "people"))
        measure_step.measure_release(
            settings_for("measure-release", config),
            noisy,
            held_out,
            self.fit(config, noisy),
            variant_set="variant_set",
            sites=self.sites,
            output=self.root / "metrics.tsv",
            accuracy=self.root / "accuracy.npz",
            events=self.root / "accuracy_events.json",
        )
        return self.root / "accuracy.npz"

    def bundle(self, config, noisy, *, is_measured=False, **files):
        """Write and verify the bundle, with accuracy if it is measured; return its files."""
        settings, folder, accuracy = map(self.root.joinpath, ("settings.json", "bundle", "accuracy.npz"))
        settings.write_text(json.dumps(config.as_dict()))
        if not is_measured:
            save_labelled(accuracy, [])
        weights = self.fit(config, noisy)
        write_release(settings, self.sites, noisy, weights, accuracy, output=folder, **files)
        verify_release(folder)
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def publish(self, method, *, release=None, **privacy):
        """Release by a method, write its bundle without audits, and return the folder."""
        config = self.settings(method, **privacy)
        config = config.changed(release={"audit_draws": 0} | (release or {}))
        self.bundle(config, self.release(config))
        return self.root / "bundle"

    def statement(self):
        return json.loads((self.root / "bundle" / "privacy_statement.json").read_text())


class HaplotypeStudy(Study):
    """The same with two rows for each person."""

    rows = "haplotypes"
