"""A release by a made-up mechanism that chooses variants first, through every step to its bundle."""

import gzip
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpgrs.io.replicates import load_labelled, save_labelled
from dpgrs.methods import mechanisms
from dpgrs.methods.registry import METHODS
from dpgrs.methods.separate_statistics import SeparateStatistics
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.sensitivity import Sensitivity
from dpgrs.statement import fit_steps
from dpgrs.statement.draws import KENDALL, SEPARATE
from dpgrs.types import Exactness
from dpgrs.verify import entry_check
from dpgrs_papers.methods.benchmark_mechanisms import Naive
from dpgrs_papers.methods.naive import SeparateFits, fit_separately
from ledger_requests import new_ledger
from refused import refused
from step_studies import NAMES, Study

N_CHOSEN = 2


class ChoosesFirst(SeparateFits):
    """Separate fits, each of two variants that were chosen for its outcome; `origin` holds which.

    Parameters
    ----------
    epsilon : float, of an outcome's choices.
    gaussian_epsilon : float, of all else together; None for what is asked for.
    """

    methods = ("naive",)

    def __init__(self, epsilon, gaussian_epsilon=None):
        self.epsilon, self.gaussian_epsilon = epsilon, gaussian_epsilon

    def draw(self, gram, cross, n_rows, *, request, noise, outcome_names, observed, origin=None, slopes=None):
        numbers = replace(request, epsilon=self.gaussian_epsilon or request.epsilon)
        options = {"request": numbers, "noise": noise, "outcome_names": outcome_names}
        drawn, chosen, events = super().draw(gram, cross, n_rows, **options), [], []
        claim = Sensitivity(6.0, "linf", request.neighbours, request.unit, "kendall/1")
        for name, scores in zip(outcome_names, np.abs(cross[:, :-1]), strict=True):
            one, event = noise.of("outcomes", name).choose(
                scores,
                name="Kendall's correlations",
                step=request.cross_step,
                sensitivity=claim,
                epsilon=self.epsilon,
                n_choices=N_CHOSEN,
            )
            chosen.append(np.sort(one))
            events.append(event)
        return replace(drawn, events=(*drawn.events, *events), origin=np.array(chosen))

    def arrays(self, drawn):
        return {"gram": drawn.gram, "cross": drawn.cross, "chosen": drawn.origin}

    def restore(self, label, arrays):
        return SeparateStatistics(
            arrays["gram"], arrays["cross"], label["n"], origin=arrays["chosen"].astype(np.int64)
        )

    def outputs(self, drawn, names, request):
        parts = super().outputs(drawn, names, request)
        for name, one in zip(names, drawn.origin, strict=True):
            parts["outcomes", name] += (one,)
        return parts


def fit_of_chosen(self, drawn, *, request, terms, outcomes=None):
    fit = fit_separately(drawn.by_outcome(), penalty=terms.penalty, origin=None)
    weights = np.zeros_like(fit.weights)
    held = np.take_along_axis(fit.weights, drawn.origin, axis=1)
    np.put_along_axis(weights, drawn.origin, held, axis=1)
    return replace(fit, weights=weights, chosen=drawn.origin)


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A function that makes a study whose `naive` is `ChoosesFirst`, of the same arguments."""

    def make(*epsilons):
        known = mechanisms.all_mechanisms() | {SeparateFits.name: ChoosesFirst(*epsilons)}
        monkeypatch.setattr(mechanisms, "all_mechanisms", lambda: known)
        facts = {"exactness": Exactness.EXACT, "words": fit_steps.RIDGE, "draws": (KENDALL, *SEPARATE)}
        monkeypatch.setitem(METHODS, "naive", replace(METHODS["naive"], **facts))
        monkeypatch.setattr(Naive, "fit", fit_of_chosen)
        # Its sums are of all variants: no method of a release chooses and still sums up all.
        monkeypatch.setattr(entry_check, "_size_problems", lambda *_, **__: [])
        made = Study(tmp_path, monkeypatch)
        (tmp_path / "pure").mkdir()
        account = Account("full", "person", "add-remove")
        ledger = new_ledger(tmp_path / "pure", account=account, mu_squared="4", pure_epsilon="2")
        made.ledgers["add-remove"] = ledger
        return made

    return make


def test_release__choices_are_charged_bundled_and_replayed(study):
    study = study(0.25)
    config = study.settings("naive")
    noisy = study.release(config)
    first, files, statement = noisy.read_bytes(), study.bundle(config, noisy), study.statement()
    book = study.ledger(config).read()
    (account,) = book.budgets
    assert book.spent(account).pure_epsilon == Fraction(3, 4)
    choices = [part for part in statement["mechanisms"] if part["mechanism"] == "choice"]
    assert [(part["outcome"], part["epsilon"], part["n_choices"]) for part in choices] == [
        (name, "0.25", N_CHOSEN) for name in NAMES
    ]
    assert statement["guarantee"]["pure_epsilon"] == "0.75"
    # Beyond the 2 that all was asked to cost; an outcome costs its own share of these and its choice.
    assert 2.75 <= float(statement["guarantee"]["epsilon"]) < 2.7501
    assert 1.25 < float(statement["composition"]["per_outcome"]["epsilon"]) < 1.6
    asked = {public["name"]: public["value"] for public in statement["public_inputs"]}
    assert asked["variants to choose for an outcome"] == str(N_CHOSEN)
    for score in statement["scores"]:
        rows = gzip.decompress(files[_path(files, score["file"])]).decode().splitlines()
        assert sum(not row.startswith("#") for row in rows) == 1 + N_CHOSEN == 1 + score["n_variants"]

    before = study.ledger(config).path.read_bytes()
    noisy.unlink()
    assert study.release(config).read_bytes() == first
    assert study.bundle(config, noisy) == files
    assert study.ledger(config).path.read_bytes() == before


def _path(files, name):
    return next(path for path in files if path.as_posix() == name)


def test_release__choices_within_what_was_asked_for(study):
    study = study(0.1, 1.7)
    config = study.settings("naive")
    study.bundle(config, study.release(config))
    assert study.statement()["guarantee"]["epsilon"] == "2"


def test_release__separate_budgets_say_what_an_outcome_costs_with_its_choice(study):
    study = study(0.1)
    config = study.settings("naive", outcome_budget="separate")
    study.bundle(config, study.release(config))
    composition = study.statement()["composition"]
    assert 2.1 <= float(composition["per_outcome"]["epsilon"]) < 2.1001
    assert float(composition["whole_study"]["epsilon"]) > 2.8


@pytest.mark.parametrize(("key", "value"), [("epsilon", 0.125), ("n_choices", 1), ("statistic", "others")])
def test_release__raise_on_a_choice_that_was_not_charged(study, key, value):
    study = study(0.25)
    config = study.settings("naive")
    noisy = study.release(config)
    ((label, arrays),) = load_labelled(noisy)
    changed = json.loads(json.dumps(label))
    choice = next(event for event in changed["events"] if event["family"] == "choice")
    choice[key] = value
    save_labelled(noisy, [(changed, arrays)])
    with refused("statistics-not-charged"):
        study.bundle(config, noisy)
