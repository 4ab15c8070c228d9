"""What keys the noise of a release: bytes that must not change (docs/development.md)."""

import hashlib
import hmac
import json
import shutil
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from dpgrs.errors import UsageError
from dpgrs.privacy.accounting.events import (
    ChoiceEvent,
    DepthEvent,
    GaussianEvent,
    LaplaceEvent,
    SubsetEvent,
)
from dpgrs.privacy.ledger.charging import release
from dpgrs.privacy.ledger.entries import Account
from dpgrs.privacy.ledger.ledger import Ledger, start_ledger
from dpgrs.privacy.noise.canonical_lipschitz import certified_set
from dpgrs.privacy.noise.depth_sampler import certified_deep_point
from dpgrs.privacy.noise.rounds import answered
from dpgrs.privacy.noise.samplers import indices_below, permute_and_flip, rounded_normal
from dpgrs.privacy.noise.sources import Rehearsal, ReleaseNoise
from dpgrs.privacy.sensitivity import PROOFS, Sensitivity
from golden_releases import CASES, GoldenStudy
from ledger_requests import ACCOUNT, DATASET, KEY
from refused import refused
from study_runs import REPOSITORY

CLAIM = Sensitivity(0.75, "l2", "add-remove", "person", "gram/1")
EXACT = np.arange(1000, dtype=np.int64).reshape(10, 100)
CLAIMED = {
    "statistic": "gram",
    "law": "gram/1",
    "sensitivity": "0.75",
    "norm": "l2",
    "neighbours": "add-remove",
    "unit": "person",
    "step": "0.25",
    "entries": 6,
}
EVENT = {"statistic": "gram", "sensitivity": CLAIM, "step": 0.25, "entries": 6, "source": "release"}
# Of each family what it is made by beside `EVENT`, and its terms beside `CLAIMED`.
EVENTS = {
    GaussianEvent: ({"mu": 0.5, "sigma": 1.5}, {"family": "gaussian", "sigma": "1.5"}),
    LaplaceEvent: ({"epsilon": 0.5, "scale": 1.5}, {"family": "laplace", "scale": "1.5"}),
    ChoiceEvent: (
        {"epsilon": 0.125, "n_choices": 2},
        {"family": "choice", "epsilon": "0.125", "n_choices": 2},
    ),
    SubsetEvent: (
        {"epsilon": 0.125, "n_choices": 2, "gamma": 0.5},
        {"family": "subset", "epsilon": "0.125", "n_choices": 2, "gamma": "0.5"},
    ),
    DepthEvent: (
        {"epsilon": 0.125, "delta": 2.0**-20},
        {"family": "depth", "epsilon": "0.125", "delta": "0.00000095367431640625"},
    ),
}
# What says only whose noise it is, or follows from sensitivity and scale.
IN_NO_TERM = {"source", "request", "version"}
SHARES = {GaussianEvent: {"mu"}, LaplaceEvent: {"epsilon"}}


@pytest.mark.parametrize("family", EVENTS)
def test_terms__have_these_names_and_texts(family):
    own, named = EVENTS[family]
    assert family(**EVENT, **own).identity_terms == CLAIMED | named


@pytest.mark.parametrize("family", EVENTS)
def test_terms__are_others_for_every_other_field(family):
    own, _ = EVENTS[family]
    event = family(**EVENT, **own)
    for name, value in vars(event).items():
        if name in IN_NO_TERM | SHARES.get(family, set()) | {"sensitivity"}:
            continue
        other = replace(event, **{name: f"{value}?" if isinstance(value, str) else value / 2})
        assert other.identity_terms != event.identity_terms, name
    others = {"value": 0.5, "norm": "l1", "neighbours": "replace-one", "unit": "haplotype", "law": "count/1"}
    assert others.keys() == vars(CLAIM).keys()
    for name, value in others.items():
        changed = replace(event, sensitivity=replace(CLAIM, **{name: value}))
        assert changed.identity_terms != event.identity_terms, name


def test_laws__have_a_proof_page_and_a_number():
    assert all((REPOSITORY / page).is_file() for page in PROOFS.values())
    assert all(law.rpartition("/")[2].isdigit() for law in PROOFS)
    with refused("claim-unknown", error=UsageError):
        replace(CLAIM, law="docs/proofs/gram.md")


STEP, SHARE = 0.25, 0.5


def noise_of(
    path,
    *,
    account=ACCOUNT,
    dataset=DATASET,
    version="v1",
    mechanism="sums",
    part=("outcomes", "a"),
    draws=("gram",),
    statistic=EXACT,
    **options,
):
    """Release one part under the study key of all tests, and return the noise of its statistic.

    Parameters
    ----------
    path : ledger, which is begun where there is none.
    **options : arguments of a draw; all others stand in the public identity.
    """
    if not path.exists():
        start_ledger(path, **dataset, account=account, delta="1e-6", mu_squared="1")
    drawn = {name: options.pop(name) for name in ("step", "sensitivity", "mu") if name in options}
    drawn = {"step": STEP, "sensitivity": CLAIM, "mu": SHARE} | drawn

    def draw(noise):
        return {name: noise.of(*part).gaussian(statistic, name=name, **drawn)[0] for name in draws}

    def identify(part):
        return {"mechanism": mechanism, "dataset_version": version} | dataset | options

    noisy, _ = release(draw, identify=identify, account=account, ledger=Ledger(path), study_key=KEY)
    return noisy.get("gram", noisy[draws[0]]) - statistic


def share_no_noise(one, other):
    """Tell whether two draws are independent, at any two scales.

    Six standard errors of a correlation, with a fixed key; of one stream at two scales it is above 0.9.
    """
    n = min(one.size, other.size)
    one, other = one.ravel()[:n], other.ravel()[:n]
    return abs(np.corrcoef(one, other)[0, 1]) < 6 / np.sqrt(n) and (one != other).mean() > 0.8


def copy_of(path, name):
    """Return the path of a copy of a ledger as it is."""
    shutil.copytree(path.parent, path.parent.with_name(name))
    return path.parent.with_name(name) / path.name


def test_release__new_and_copied_ledgers_draw_the_same(tmp_path):
    paths = [tmp_path / name / "cohort.jsonl" for name in ("one", "other")]
    for path in paths:
        path.parent.mkdir()
    first = noise_of(paths[0], version="v0"), noise_of(paths[0])
    # Begun elsewhere, with the releases in another order.
    other = noise_of(paths[1]), noise_of(paths[1], version="v0")
    np.testing.assert_array_equal(first, other[::-1])
    assert not {*Ledger(paths[0]).read().requests} & {*Ledger(paths[1]).read().requests}
    older = copy_of(paths[0], "older")
    np.testing.assert_array_equal(noise_of(paths[0], version="v2"), noise_of(older, version="v2"))


def test_release__other_data_under_one_label_and_an_older_ledger_have_other_noise(tmp_path):
    """Two such outputs are equal where their statistics are, and there alone."""
    path = tmp_path / "one" / "cohort.jsonl"
    path.parent.mkdir()
    noise_of(path, version="v0")
    older = copy_of(path, "older")
    assert share_no_noise(noise_of(path), noise_of(older, statistic=EXACT + (EXACT == 0)))


def of_account(*terms):
    account = Account(*terms)
    claim = replace(CLAIM, neighbours=account.neighbours, unit=account.unit)
    return {"account": account, "sensitivity": claim}


VARIANTS = {
    "as it is": {},
    "scale": {"mu": 0.25},
    "last digit of the scale": {"mu": float(np.nextafter(SHARE, 1))},
    "sensitivity": {"sensitivity": replace(CLAIM, value=0.5)},
    "sensitivity at one scale": {"sensitivity": replace(CLAIM, value=0.375), "mu": 0.25},
    "law": {"sensitivity": replace(CLAIM, law="count/1")},
    "grid": {"step": 0.125},
    "shape": {"statistic": EXACT.reshape(100, 10)},
    "fewer entries": {"statistic": EXACT[:9]},
    "exact statistic": {"statistic": EXACT[::-1].copy()},
    "name of the statistic": {"draws": ("cross product",)},
    "a draw before it": {"draws": ("first", "gram")},
    "a draw after it": {"draws": ("gram", "second")},
    "mechanism": {"mechanism": "other sums"},
    "version label": {"version": "v2"},
    "consent": {"dataset": DATASET | {"consent": "c2"}},
    "accession": {"dataset": DATASET | {"accession": "phs000002"}},
    "unit": of_account("full", "haplotype", "add-remove"),
    "neighbours": of_account("full", "person", "replace-one"),
    "account": of_account("feature", "person", "replace-one"),
    "one parameter more": {"sites": "a" * 64},
    "a number": {"sites": 1},
    "the number as text": {"sites": "1"},
    "true": {"sites": True},
    "null": {"sites": None},
    "one in a list": {"sites": [1]},
    "another outcome": {"part": ("outcomes", "b")},
    "two outcomes": {"part": ("outcomes", "a", "b")},
    "two outcomes in another order": {"part": ("outcomes", "b", "a")},
    "two outcomes in one name": {"part": ("outcomes", "a,b")},
    "two outcomes by quotes": {"part": ("outcomes", 'a","b')},
    "a name with a break": {"part": ("outcomes", "a\nb")},
    "a letter with an accent": {"part": ("outcomes", "\u00e9")},
    "the same by two signs": {"part": ("outcomes", "e\u0301")},
    "genotypes": {"part": ("genotypes",)},
    "accuracy": {"part": ("accuracy", "a")},
}


@pytest.fixture(scope="module")
def noises(tmp_path_factory):
    """Return the noise of every variant, each by a new ledger under one key."""
    return {
        name: noise_of(tmp_path_factory.mktemp("ledger") / "cohort.jsonl", **changes)
        for name, changes in VARIANTS.items()
    }


@pytest.mark.parametrize("name", VARIANTS)
def test_release__shares_no_noise_with_any_other(noises, name):
    assert all(share_no_noise(noises[name], other) for key, other in noises.items() if key != name)


@pytest.fixture
def renamed_pages(monkeypatch):
    for law in PROOFS:
        monkeypatch.setitem(PROOFS, law, f"docs/proofs/renamed_{law.partition('/')[0]}.md")


def test_release__a_renamed_proof_page_changes_nothing(noises, renamed_pages, tmp_path):
    assert CLAIM.proof == "docs/proofs/renamed_gram.md"
    np.testing.assert_array_equal(noise_of(tmp_path / "cohort.jsonl"), noises["as it is"])


def test_release__parts_share_no_noise_even_under_one_identity():
    rehearsal = Rehearsal()
    parts = [("genotypes",), ("outcomes", "a"), ("outcomes", "b"), ("accuracy", "a")]
    options = {"name": "gram", "step": STEP, "sensitivity": CLAIM, "mu": SHARE}
    for part in parts:
        rehearsal.of(*part).gaussian(EXACT, **options)
    source = ReleaseNoise(KEY, draws=rehearsal.draws, requests=dict.fromkeys(parts, ("r", "i")))
    drawn = [source.of(*part).gaussian(EXACT, **options)[0] - EXACT for part in parts]
    assert all(share_no_noise(*pair) for pair in combinations(drawn, 2))


# The recipe once more, by hand.


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def digest_of(integers):
    integers = np.asarray(integers)
    return sha256(json.dumps(list(integers.shape)).encode() + integers.astype("<i8").tobytes())


class Words:
    """The words of ChaCha20 under HMAC-SHA256(study key; canonical JSON), nonce 0, from block 0."""

    def __init__(self, secret, key):
        cipher_key = hmac.new(secret, canonical(key), hashlib.sha256).digest()
        stream = Cipher(ChaCha20(cipher_key, bytes(16)), mode=None).encryptor().update(bytes(2**16))
        self._words = np.frombuffer(stream, dtype="<u4").astype(np.uint32)

    def peek(self, n_words):
        return self._words[:n_words]

    def skip(self, n_words):
        self._words = self._words[n_words:]

    def take(self, n_words):
        words = self.peek(n_words)
        self.skip(n_words)
        return words


class Draws:
    """Notes what the draws of a release are made of and what they give.

    Attributes
    ----------
    marks : list of the digests of which the ledger keeps marks, one a draw.
    gaussian : list of (exact statistic, noisy statistic).
    choices : list of (choices, a list of scores of all entries with their unit, one a round).
    """

    def __init__(self, monkeypatch):
        self.marks, self.gaussian, self.choices = [], [], []
        reserved, draw, choose = ReleaseNoise._reserved, ReleaseNoise._draw, ReleaseNoise._choose

        def noting_mark(noise, event, mark):
            self.marks.append((event.statistic, mark))
            return reserved(noise, event, mark)

        def noting_draw(noise, statistic, event):
            noisy, complete = draw(noise, statistic, event)
            self.gaussian.append((event.statistic, statistic.copy(), noisy))
            return noisy, complete

        def noting_choice(noise, event, mark):
            choice, rounds = choose(noise, event, mark), []
            try:
                chosen = next(choice)
                while True:
                    rounds.append((yield chosen))
                    chosen = choice.send(rounds[-1])
            except StopIteration as end:
                self.choices.append((end.value[0], rounds))
                return end.value

        monkeypatch.setattr(ReleaseNoise, "_reserved", noting_mark)
        monkeypatch.setattr(ReleaseNoise, "_draw", noting_draw)
        monkeypatch.setattr(ReleaseNoise, "_choose", noting_choice)


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Return how to release a golden case: its Draws, statement, and raw entries of the ledger by hash."""

    def publish(name):
        (tmp_path / "private").mkdir(mode=0o700)
        study, draws = GoldenStudy(tmp_path / "private", monkeypatch, CASES[name]), Draws(monkeypatch)
        statement = json.loads((study.publish() / "privacy_statement.json").read_text())
        ((_, ledger),) = study.ledgers.items()
        entries = map(json.loads, ledger.path.read_text().splitlines())
        return draws, statement, {entry["hash"]: entry for entry in entries}

    return publish


# Where a statement has the terms of a draw, under other names.
STATED = {"mechanism": "family", "grid": "step"}
SAME = ("statistic", "sensitivity", "norm", "neighbours", "unit", "entries", "sigma", "n_choices")


def key_of(part, number, entries):
    """Return what keys a draw that a statement lists, the number of its request, without its statistic."""
    entry = entries[part["request"]]
    identity = sha256(canonical({name: entry[name] for name in ("account", "charges", "identity")}))
    terms = entry["identity"]["draws"][number]
    stated = {STATED.get(name, name): part[name] for name in (*STATED, *SAME) if name in part}
    assert stated.items() <= terms.items()
    assert PROOFS[terms["law"]] == part["proof"]
    return ["noise", identity, entry["identity"]["part"], number, terms]


def test_recipe__of_normal_noise_gives_what_the_workflow_drew(published):
    draws, statement, entries = published("reusecov-gauss")
    place = {}
    for part, (name, exact, noisy) in zip(statement["mechanisms"], draws.gaussian, strict=True):
        assert part["statistic"] == name
        number = place[part["request"]] = place.get(part["request"], -1) + 1
        words = Words(KEY.secret, [*key_of(part, number, entries), digest_of(exact)])
        noise = rounded_normal(words, exact.size, Fraction(part["sigma"]) / Fraction(part["grid"]))
        np.testing.assert_array_equal(noisy, exact + noise.reshape(exact.shape))
    assert {name for name, *_ in draws.gaussian} == {"count", "gram", "cross product"}


def test_recipe__of_choices_gives_what_the_workflow_chose(published):
    draws, statement, entries = published("k-blup")
    listed = [part for part in statement["mechanisms"] if part["mechanism"] == "choice"]
    marks = [mark for name, mark in draws.marks if name == "Kendall's correlations"]
    for part, mark, (chosen, rounds) in zip(listed, marks, draws.choices, strict=True):
        epsilon = Fraction(part["epsilon"]) / part["n_choices"]
        for done, (scores, unit) in enumerate(rounds):
            left = np.delete(np.arange(part["entries"]), chosen[:done])
            key = [
                *key_of(part, 0, entries),
                mark,
                chosen[:done].tolist(),
                digest_of(scores[left]),
                str(unit),
            ]
            terms = {"epsilon": epsilon, "sensitivity": Fraction(part["sensitivity"]) / unit}
            assert left[permute_and_flip(Words(KEY.secret, key), scores[left], **terms)] == chosen[done]
    assert [len(rounds) for _, rounds in draws.choices] == [2, 2, 2]


def test_recipe__of_a_deep_point_gives_what_is_drawn():
    """No ledger counts the delta of a deep point, so its identity is made up."""
    models, part = np.arange(80.0).reshape(80, 1) * 1e9, ("outcomes", "a")
    claim = Sensitivity(1.0, "linf", "add-remove", "person", "tukey/1")
    options = {"name": "deep point", "sensitivity": claim, "epsilon": 0.5, "delta": 0.25, "is_safe": True}
    rehearsal = Rehearsal()
    rehearsal.of(*part).deep_point(models, **options)
    source = ReleaseNoise(KEY, draws=rehearsal.draws, requests={part: ("r", "f" * 64)})
    point, _ = source.of(*part).deep_point(models, **options)
    terms = {"family": "depth", "statistic": "deep point", "law": "tukey/1", "sensitivity": "1", "step": "1"}
    terms |= {"norm": "linf", "neighbours": "add-remove", "unit": "person", "entries": 1}
    terms |= {"epsilon": "0.5", "delta": "0.25"}
    exact = sha256(json.dumps(["<f8", [80, 1]]).encode() + models.tobytes())
    words = Words(KEY.secret, ["noise", "f" * 64, [*part], 0, terms, exact, exact])
    assert certified_deep_point(words, models, rate=Fraction(1, 4)) == point


PART, NAMED = ("outcomes", "a"), ("data", "more data")
# The mark of named data: JSON with Python's blanks.
MARK = sha256(json.dumps(["data", None, *NAMED]).encode())


def source_on_named_data(draws):
    """Return the source of one part on named data under a made-up identity, with what was reserved."""
    return ReleaseNoise(KEY, draws=draws, requests={PART: ("r", "f" * 64)}).of(*PART).on(*NAMED)


def test_recipe__of_a_set_on_named_data_gives_what_is_chosen():
    scores = np.arange(40, dtype=np.int64) * 7 % 40
    claim = Sensitivity(8.0, "linf", "add-remove", "person", "sis/1")
    options = {"name": "screening", "step": 1.0, "sensitivity": claim, "epsilon": 0.5, "gamma": 0.25}
    rehearsal = Rehearsal()
    rehearsal.of(*PART).on(*NAMED).choose_set(scores, n_choices=3, **options)
    chosen, _ = source_on_named_data(rehearsal.draws).choose_set(scores, n_choices=3, **options)
    terms = {"family": "subset", "statistic": "screening", "law": "sis/1", "sensitivity": "8", "step": "1"}
    terms |= {"norm": "linf", "neighbours": "add-remove", "unit": "person", "entries": 40}
    terms |= {"epsilon": "0.5", "gamma": "0.25", "n_choices": 3}
    words = Words(KEY.secret, ["noise", "f" * 64, [*PART], 0, terms, MARK, digest_of(scores)])
    exact = {"epsilon": Fraction(1, 2), "sensitivity": Fraction(8), "gamma": Fraction(1, 4)}
    np.testing.assert_array_equal(chosen, certified_set(words, scores, n_choices=3, **exact))


def test_recipe__of_choices_in_rounds_marks_the_scores_of_the_first():
    claim, rehearsal = Sensitivity(1.0, "linf", "add-remove", "person", "kendall/1"), Rehearsal()
    terms = {"n_entries": 9, "name": "correlations", "sensitivity": claim, "epsilon": 0.5, "n_choices": 1}
    scores, unit = np.arange(9, dtype=np.int64), Fraction(1, 3)
    answered(rehearsal.of(*PART).on(*NAMED).choose_in_rounds(**terms), lambda _: (scores, unit))
    ((_, mark),) = rehearsal.draws[PART]
    assert mark == sha256(json.dumps([MARK, digest_of(scores), "1/3"]).encode())


def test_recipe__of_groups_gives_what_is_assigned():
    words = Words(KEY.secret, ["groups", "f" * 64, [*PART], "groups", 100, 5, MARK])
    groups = source_on_named_data({}).assign_groups(100, name="groups", n_groups=5)
    np.testing.assert_array_equal(groups, indices_below(words, 100, 5))
