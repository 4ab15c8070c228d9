"""A small study whose steps run in this process, for releases without Snakemake."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd

from dpgrs.io.sites import write_sites
from dpgrs.io.trials import Outcomes, save_labelled
from dpgrs.linalg.statistics import coded_rows
from dpgrs.methods.chosen_requests import ScreeningTerms
from dpgrs.methods.registry import METHODS
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.noise.study_key import VARIABLE
from dpgrs.release.verify import verify_release
from dpgrs.steps import accuracy as accuracy_step
from dpgrs.steps import baselines as baselines_step
from dpgrs.steps import compute_statistics as statistics_step
from dpgrs.steps import release_chosen as chosen_step
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.steps.noise import release_statistics
from dpgrs.steps.release import write_release
from dpgrs.study.identity import fit_settings, public_identity
from dpgrs.study.settings import counts_outcomes, resolve
from ledger_requests import DATASET, create_fixed_key, new_ledger
from random_cohorts import random_bits
from release_studies import CURATION
from step_settings import settings_for

N_VARIANTS, N_PEOPLE, NAMES = 4, 300, ("a", "b", "c")
RAW = {
    "mode": "release",
    "dataset": DATASET | {"version": "1"},
    "cohort": {"rows": "people"},
    "panel": {"size": N_VARIANTS},
    "outcomes": {"count": 3},
    "release": CURATION,
}


class Study:
    """Four variants of 300 people, three outcomes, and a ledger for each relation of neighbours.

    Attributes
    ----------
    root : folder of all files.
    covariates : path of covariates, further columns of X; None without.
    with_covariates : dict, the section of the settings that goes with them.
    """

    covariates, with_covariates = None, {}

    def __init__(self, root, monkeypatch):
        monkeypatch.setenv(VARIABLE, str(root / "key" / "study.key"))
        # Snakemake's records are looked for here.
        monkeypatch.chdir(root)
        create_fixed_key()
        self.root, self.sites, self.ledgers = root, root / "sites.tsv", {}
        bits = random_bits(N_VARIANTS, 2 * N_PEOPLE)
        frequency = np.array([0.2, 0.4, 0.3, 0.45])
        self.X = coded_rows(bits, n_haplotypes=2 * N_PEOPLE, rows="people")
        panel = SimpleNamespace(
            haplotypes=lambda columns=None: bits,
            genotypes=lambda columns=None: bits,
            has_dosages=False,
            of_size=lambda size: np.arange(size),
            n_haplotypes=2 * N_PEOPLE,
            n_samples=N_PEOPLE,
            n_variants=N_VARIANTS,
            sample_id=np.arange(N_PEOPLE).astype(str),
            frequency=frequency,
        )
        for module in (accuracy_step, baselines_step, chosen_step, statistics_step):
            monkeypatch.setattr(module, "Panel", SimpleNamespace(open=lambda path: panel))
        places = {"contig": "1", "position": range(10, 14), "id": ".", "ref": "A", "alt": "C"}
        write_sites(self.sites, pd.DataFrame({**places, "frequency": frequency, "rank": range(4)}))
        values = np.random.default_rng(5).standard_normal((3, N_PEOPLE))
        everybody = np.ones(N_PEOPLE, dtype=bool)
        Outcomes(NAMES, {N_VARIANTS: values}, {}, everybody, "people").save(root / "outcomes.npz")

    def hide_outcomes(self):
        """Leave the second outcome known of two thirds of the people."""
        outcomes = Outcomes.load(self.root / "outcomes.npz")
        outcomes.values[N_VARIANTS][1, ::3] = np.nan
        outcomes.save(self.root / "outcomes.npz")

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
        named |= {"outcomes": RAW["outcomes"] | {"missing": missing}}
        return resolve(RAW | named | {"covariates": self.with_covariates})

    def ledger(self, config):
        return self.ledgers[config["privacy"]["neighbours"]]

    def sum_up(self, config, *, count=3):
        """Compute the exact statistics; return the path."""
        output, outcomes = self.root / "statistics.npz", config["outcomes"] | {"count": [count]}
        settings = settings_for("compute-statistics", **config | {"outcomes": outcomes})
        files = {"covariates": self.covariates, "output": output}
        statistics_step.compute_statistics(settings, "panel", self.root / "outcomes.npz", **files)
        return output

    def release(self, config, *, count=3, identity=None):
        """Release statistics as the rules do; return the path."""
        privacy, output = config["privacy"], self.root / "noisy.npz"
        terms = ("neighbours", "unit", "delta", "gram_share", "count_share")
        release_statistics(
            self.sum_up(config, count=count),
            self.root / "outcomes.npz",
            output=output,
            events=self.root / "events.json",
            sites=self.sites,
            ledger=privacy["ledger"],
            identity=identity or json.loads(json.dumps(public_identity(config))),
            method=config["methods"][0],
            sizes=[N_VARIANTS],
            protections=privacy["protection"],
            accountings=privacy["accounting"],
            epsilons=privacy["epsilon"],
            **{name: privacy[name] for name in terms},
            counts_outcomes=counts_outcomes(config),
            counts=[count],
            outcome_budget=privacy["outcome_budget"],
        )
        return output

    def release_from_rows(self, config):
        """Release by a method that reads rows, as its rule does, of two variants if it chooses; the path."""
        privacy, method, output = config["privacy"], config["methods"][0], self.root / "noisy.npz"
        terms = ("neighbours", "unit", "delta", "gram_share", "count_share", "bounds", "genotype_clip")
        chosen_step.release_chosen(
            "panel",
            self.root / "outcomes.npz",
            output=output,
            events=self.root / "events.json",
            sites=self.sites,
            ledger=privacy["ledger"],
            identity=json.loads(json.dumps(public_identity(config))),
            method=method,
            terms=ScreeningTerms(n_choices=2, share=0.25, selector=METHODS[method].selector),
            outcome_bound=3.0,
            sizes=[N_VARIANTS],
            protections=privacy["protection"],
            accountings=privacy["accounting"],
            epsilons=privacy["epsilon"],
            **{name: privacy[name] for name in terms},
            counts_outcomes=counts_outcomes(config),
            counts=[3],
            outcome_budget=privacy["outcome_budget"],
        )
        return output

    def measure(self, config, noisy, *, epsilon, skipped=0):
        """Fit, and measure the weights on everybody as if held out; return the path of the accuracy.

        The first of the outcomes' rows can be skipped, so that the files are not of the same people.
        """
        held_out, weights, seconds = (self.root / name for name in ("held_out.npz", "weights.npz", "s.tsv"))
        fit, values = fit_settings(config), Outcomes.load(self.root / "outcomes.npz").values
        values = {size: one[:, skipped:] for size, one in values.items()}
        Outcomes(NAMES, values, {}, np.zeros(N_PEOPLE - skipped, dtype=bool), "people").save(held_out)
        fit_weights(settings_for("fit-weights", **config), noisy, output=weights, seconds=seconds)
        accuracy_step.release_metrics(
            noisy,
            held_out,
            weights,
            seconds,
            output=self.root / "metrics.tsv",
            accuracy=self.root / "accuracy.npz",
            events=self.root / "accuracy_events.json",
            panel="panel",
            sites=self.sites,
            ledger=config["privacy"]["ledger"],
            identity=json.loads(json.dumps(public_identity(config))),
            epsilon=epsilon,
            residual_bound=2.0,
            fit=fit,
        )
        return self.root / "accuracy.npz"

    def bundle(self, config, noisy, *, is_measured=False, **files):
        """Write and verify the bundle, with accuracy if it is measured; return its files."""
        settings, folder, accuracy = map(self.root.joinpath, ("settings.json", "bundle", "accuracy.npz"))
        settings.write_text(json.dumps(config))
        if not is_measured:
            save_labelled(accuracy, [])
        write_release(settings, self.sites, noisy, accuracy, output=folder, **files)
        verify_release(folder)
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def statement(self):
        return json.loads((self.root / "bundle" / "privacy_statement.json").read_text())
