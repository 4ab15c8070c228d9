"""Mechanisms of steered X'Y: what they draw, store, restore and give each part, and what they fit by."""

from dataclasses import asdict, fields, replace

import numpy as np
import pytest

from dpgrs.methods.blup_ld import ld_request
from dpgrs.methods.fits import FitTerms, fit_released
from dpgrs.methods.steered import private_steered_statistics, steered_request
from dpgrs.methods.steered_mechanisms import SteeredProducts, SteeredStatistics
from dpgrs.privacy.noise.sources import BenchmarkNoise, Rehearsal
from steered_data import DIGEST, D, N, exact_gram, ld_of, linked_bits, request_of, steerable

MECHANISMS = [SteeredStatistics(), SteeredProducts()]
TERMS = dict(zip(MECHANISMS, (steered_request, ld_request), strict=True))
PUBLIC = {"origin": np.linspace(-0.3, 0.2, D), "loadings": np.arange(6.0).reshape(3, 2)}

of_each = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)


@pytest.fixture
def exact():
    """Return what one of the mechanisms draws from, as keywords."""
    rng = np.random.default_rng(3)
    bits = linked_bits(rng)

    def of(mechanism, request, **more):
        terms = TERMS[mechanism](request)
        known = {"rows": steerable(rng, bits, terms), "n_rows": N, "digest": DIGEST, "ld": None}
        known |= {"gram": exact_gram(bits), "slopes": np.array([0.7, 0.9]), "observed": np.array([N, N - 9])}
        if isinstance(mechanism, SteeredProducts):
            known |= {"gram": None, "ld": ld_of(bits)}
        return known | more

    return of


@of_each
def test_draw__is_that_of_its_terms_with_what_is_public(exact, mechanism):
    request = request_of(counts_outcomes=True)
    known = exact(mechanism, request)
    drawn = mechanism.draw(**known, **PUBLIC, request=request, noise=BenchmarkNoise(1))
    wanted = private_steered_statistics(**known, request=TERMS[mechanism](request), noise=BenchmarkNoise(1))
    assert_same(drawn, replace(wanted, **PUBLIC))
    plain = mechanism.draw(**known, request=request, noise=BenchmarkNoise(1))
    assert plain.origin is None
    assert plain.loadings is None


@of_each
def test_restore__is_what_was_drawn_but_for_the_events(exact, mechanism):
    request = request_of(counts_outcomes=True)
    drawn = mechanism.draw(**exact(mechanism, request), **PUBLIC, request=request, noise=BenchmarkNoise(1))
    arrays = mechanism.arrays(drawn)
    before = {*arrays}
    assert_same(mechanism.restore({"n": drawn.n}, arrays), replace(drawn, events=()))
    assert {*arrays} == before


def assert_same(one, other):
    for field in fields(other):
        found, wanted = (getattr(each, field.name) for each in (one, other))
        if field.name == "steering":
            found, wanted = (list(asdict(each).values()) for each in (found, wanted))
            for array, like in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(array, like, strict=True)
        elif isinstance(wanted, np.ndarray):
            np.testing.assert_array_equal(found, wanted, strict=True)
        else:
            assert found == wanted


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("n_outcomes", [1, 2])
@pytest.mark.parametrize("is_counted", [False, True])
@pytest.mark.parametrize("is_clipped", [False, True])
@of_each
def test_zeros__draw_what_rows_draw(exact, mechanism, neighbours, n_outcomes, is_counted, is_clipped):
    """Of a cohort without rows, whose parts, events and sizes are those of any other."""
    terms = {"neighbours": neighbours, "n_outcomes": n_outcomes, "counts_outcomes": is_counted}
    request = request_of(is_clipped=is_clipped, **terms)
    drawn, kinds = [], []
    for known in (exact(mechanism, request, slopes=None), mechanism.zeros(request, 2)):
        noise, rows = Rehearsal(), known["rows"]
        mechanism.draw(**known, request=request, noise=noise)
        drawn.append({part: [event for event, _ in draws] for part, draws in noise.draws.items()})
        arrays = [rows.genotypes, rows.Y, rows.is_selected]
        kinds.append((known["gram"] is None, [(len(one.shape), one.dtype) for one in arrays]))
        kinds[-1] += (rows.row_norm, rows.outcome_bound, rows.rows)
    assert drawn[0] == drawn[1]
    assert kinds[0] == kinds[1]
    assert (rows.Y.shape, rows.is_selected.shape, rows.n_haplotypes) == ((2, 0), (0,), 0)
    assert (("genotypes",) in drawn[0]) == (neighbours == "add-remove" or mechanism.draws_gram)


def test_zeros__of_public_genotypes_are_blocks_of_all_variants():
    ld = MECHANISMS[1].zeros(request_of(), 2)["ld"]
    sizes = [own.stop - own.start for own in ld.of_blocks]
    assert sum(sizes) == D
    assert [block.shape for block in ld.blocks] == [(size, size) for size in sizes]
    assert not ld.spectrum(N).first.any()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("n_outcomes", [1, 2])
@of_each
def test_outputs__are_all_numbers_of_a_part(exact, mechanism, neighbours, n_outcomes):
    """With the map by which X'Y was turned, and a public n on which weights hang."""
    request = request_of(neighbours=neighbours, n_outcomes=n_outcomes, counts_outcomes=True)
    drawn = mechanism.draw(**exact(mechanism, request), request=request, noise=BenchmarkNoise(1))
    found = mechanism.outputs(drawn, ("a", "b"), request)
    has_count, turned = neighbours == "add-remove", asdict(drawn.steering).values()
    if isinstance(mechanism, SteeredProducts):
        wanted, own = {("genotypes",): (drawn.n,)} if has_count else {}, (drawn.n,)
    else:
        wanted, own = {("genotypes",): (drawn.n, drawn.gram)}, ()
    for names, group in {2: {("a", "b"): [0, 1]}, 1: {("a",): [0], ("b",): [1]}}[n_outcomes].items():
        wanted["outcomes", *names] = (*own, drawn.observed[group], drawn.cross[group], *turned)
    assert found.keys() == wanted.keys()
    for part, numbers in wanted.items():
        assert len(found[part]) == len(numbers)
        for one, other in zip(found[part], numbers, strict=True):
            np.testing.assert_array_equal(one, other)


@of_each
def test_drawn_before__is_what_count_and_gram_have_of_the_budget(mechanism):
    request = request_of(count_share=0.02, gram_share=0.3)
    budget = TERMS[mechanism](request).budget
    stated = {name: budget[name] for name in ("count", "gram")}
    assert mechanism.drawn_before(request) == {"steered_by": stated}


def test_keys__are_those_of_no_other_mechanism():
    """Draws of a benchmark for two of them have noise of their own, whatever the method."""
    keys = [mechanism.key(method) for mechanism in MECHANISMS for method in (None, "blup")]
    assert keys == [("steered-statistics",)] * 2 + [("steered-products",)] * 2


def test_fit__is_by_the_terms_of_the_draw(exact):
    """Of public linkage disequilibrium: test_blup_ld.py."""
    mechanism, request, terms = MECHANISMS[0], request_of(epsilon=4), FitTerms(0.0, heritability=0.5)
    known = exact(mechanism, request) | PUBLIC
    drawn = mechanism.draw(**known, request=request, noise=BenchmarkNoise(1))
    wanted, other = (
        fit_released(
            "blup-steered", drawn, request=steered_request(request), terms=replace(terms, heritability=h2)
        )
        for h2 in (0.5, 0.1)
    )
    found = fit_released("blup-steered", drawn, request=request, terms=terms)
    np.testing.assert_array_equal(found.weights, wanted.weights)
    assert not np.array_equal(found.weights, other.weights)
