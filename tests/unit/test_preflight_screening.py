"""What a study that screens is refused for, before any job."""

import pytest

from dpgrs.methods.chosen_requests import ScreeningTerms, screened_request
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.preflight import selection
from dpgrs.preflight import settings as preflight_settings
from dpgrs.preflight.checks import problems
from dpgrs.study.settings import resolve
from found_by import found_by

SCREENED = methods_that("is_screened")


def found(*methods, **raw):
    return problems(resolve({"methods": list(methods)} | raw))


@pytest.mark.parametrize("method", SCREENED)
def test_screening_problems__none_for_the_defaults(method):
    assert found(method) == []


@pytest.mark.parametrize("method", SCREENED)
@pytest.mark.parametrize("size", [20, 25])
def test_screening_problems__as_many_choices_as_variants(method, size):
    (line,) = found("ridge", method, variants={"size": [100, 20]}, screening={"size": size})
    assert line == (
        f"`screening.size` must be below 20, the smallest `variants.size`, got {size}. "
        "Choose fewer, or leave out the methods that choose."
    )


def test_screening_problems__are_of_methods_that_screen_alone():
    assert found("blup", variants={"size": 5}, screening={"share": 0.9, "count_share": 0.9}) == []


def test_screening_problems__more_coefficients_than_bas_takes():
    settings = {"variants": {"size": 10_000}, "screening": {"size": 4096}}
    assert found("k-blup", **settings) == []
    (line,) = found("k-bas", **settings)
    assert line == "`screening.size` must be below 4096 for `methods: k-bas`, got 4096. Lower it."


@pytest.mark.parametrize("method", methods_that("most_columns"))
def test_column_problems__more_variants_than_a_method_takes_in_a_benchmark(method):
    row = METHODS[method]
    size = row.most_columns - 1
    settings = {"public": {"reference": "r{chrom}.vcf"}, "privacy": {"bounds": "tight"}}

    def lines(size):
        return [
            line for line in found(method, variants={"size": size}, **settings) if "`variants.size` m" in line
        ]

    assert lines(size) == []
    line = f"`variants.size` must be at most {size} for `methods: {method}`, got {size + 1}. Lower it."
    # What chooses variants first is fitted on few.
    assert lines(size + 1) == ([] if row.is_screened else [line])


def test_screening_problems__nothing_left_for_the_count():
    shares = {"share": 0.6, "count_share": 0.4}
    (line,) = found("k-tukey", screening=shares)
    assert line == (
        "`screening.share` and `screening.count_share` must be below 1 together for `methods: k-tukey`, "
        "got 0.6 and 0.4. Lower one."
    )
    assert found("k-bas", screening=shares) == []
    shares = {"share": 0.2, "count_share": 0.4}
    (line,) = found("l-tukey", screening=shares)
    assert line == (
        "`screening.share` and twice `screening.count_share` must be below 1 together for "
        "`methods: l-tukey`, got 0.2 and 0.4. Lower one."
    )
    assert found("l-bas", "k-tukey", screening=shares) == []


@pytest.mark.parametrize(
    ("method", "epsilon", "budget"),
    [
        ("k-blup", 1e-4, "joint"),
        ("l-blup", 1e-4, "joint"),
        ("s-blup", 1e-4, "joint"),
        ("l-bas", 1e-3, "joint"),
        ("k-bas", 1e-3, "joint"),
        ("k-bas", 1e-4, "separate"),
    ],
)
def test_screening_problems__less_epsilon_than_can_be_accounted_for(method, epsilon, budget):
    terms = {"outcomes": {"count": [1, 10]}, "screening": {"share": 0.1}}
    (line,) = found(method, **terms, privacy={"epsilon": [epsilon, 1], "outcome_budget": budget})
    assert line.startswith(
        f"`privacy.epsilon` must leave {method} at least 0.0001 for each fit, got {epsilon:g}"
    )
    assert found(method, **terms, privacy={"epsilon": [epsilon * 1.2], "outcome_budget": budget}) == []


@pytest.mark.parametrize("accounting", ["gdp", "paper"])
def test_screening_problems__what_passes_has_a_budget(accounting):
    """The smallest epsilon that is not refused can be cut into its parts."""
    request = PrivacyRequest("people", 100, 1000, 3.0, 1.2e-4, 1e-6, accounting=accounting)
    asked = screened_request(request, ScreeningTerms(n_choices=10, share=0.1))
    # All outcomes are known.
    assert all(mu > 0 or name == "observed" for name, mu in asked.statistics.budget.items())
    assert 0 < asked.choices.epsilon_of_choices == asked.choices.epsilon


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [("law", "gumbel", "permute-and-flip"), ("composition", "zcdp", "basic")],
)
def test_release__choices_that_no_ledger_counts_are_refused(key, value, wanted):
    settings = {"methods": ["k-blup"], "variants": {"size": 20}, "screening": {key: value}}
    for mode, expected in [("benchmark", 0), ("release", 1)]:
        lines = found_by(selection, resolve(settings | {"mode": mode}))
        assert len(lines) == expected
        assert all(f"`screening.{key}` must be {wanted} in a release, got {value}" in line for line in lines)


@pytest.mark.parametrize("method", ["s-blup", "k-blup", "blup"])
def test_release__scores_in_units_of_the_data_are_refused(method):
    settings = {"methods": [method], "variants": {"size": 20}, "screening": {"scaling": "paper"}}
    assert found_by(preflight_settings, resolve(settings | {"mode": "benchmark"})) == []
    found = found_by(preflight_settings, resolve(settings | {"mode": "release"}))
    (line,) = (line for line in found if "scaling" in line)
    assert line.startswith("`screening.scaling` must be public in a release, got paper.")
