"""What each verb asks for; tests/workflow/test_resources.py holds it against what jobs took."""

import re
from types import SimpleNamespace

import pytest

from dpgrs.study.resources import GROWTH, LEAST_SECONDS, NEEDS, resources_of, rounded_up
from dpgrs.study.settings import resolve
from dpgrs.study.shape import PlannedShape, ReferenceShape, Shape
from dpgrs.study.verbs import verb_names
from study_runs import REPOSITORY

RULES = sorted((REPOSITORY / "workflow" / "rules").glob("*.smk"))
# Commands of other groups, which are no steps.
COMMANDS = {"audit", "fetch", "fetch-manifest", "score"}
NOTHING = SimpleNamespace()


def shape_of(*, people=2000, size=500, count=100, methods=("blup",), **raw):
    cohort = {"simulation": {"people": people}} | raw.pop("cohort", {})
    study = {
        "cohort": cohort,
        "variants": {"size": size},
        "outcomes": {"count": count},
        "methods": [*methods],
    }
    return Shape(resolve(study | raw))


def asked(verb, shape, *, wildcards=NOTHING, threads=1, attempt=1):
    """Return memory and run time as the rule of a verb asks for them."""
    found = resources_of(verb, shape)
    return (
        found["mem_mb"](wildcards, threads=threads, attempt=attempt),
        found["runtime"](wildcards, attempt=attempt),
    )


def rules():
    """Yield the name and the text of every rule that is written out."""
    for path in RULES:
        for part in re.split(r"(?m)^ *(?=rule \w+:|use rule )", path.read_text())[1:]:
            yield re.search(r"rule (\w+)(?: as (\w+))?", part).groups(), part


def test_needs__every_verb_has_one_and_nothing_else_does():
    assert set(NEEDS) == {*verb_names(), *COMMANDS}


def test_rules__ask_by_their_verb_and_note_what_they_took():
    verbs = {}
    for (name, own), text in rules():
        said = re.search(r"python -m dpgrs (?:--quiet )?([a-z-]+)", text)
        verbs[own or name] = verb = said[1] if said else verbs[name]
        assert "benchmark:\n" in text, own or name
        assert re.search(rf'resources_of\("{verb}", ', text) or own, name
        # A number of its own would not grow with the study.
        assert not re.search(r"mem_mb=|runtime=", text), name
    assert len(verbs) > 30


def test_make_outcomes__asks_for_the_hidden_units_of_networks():
    plain, wide = (shape_of(outcomes={"count": 100, "network": width}) for width in (None, 30))
    needed = [NEEDS["make-outcomes"].memory(shape) for shape in (plain, wide)]
    # Of 2,000 people, both haplotypes of each, what enters each unit, and its weights.
    assert needed[1] - needed[0] > 29 * 100 * (4000 + 500) * 8


@pytest.mark.parametrize("verb", NEEDS)
def test_resources__grow_with_the_study_and_the_attempt(verb):
    small = shape_of()
    least = asked(verb, small)
    for larger in (shape_of(people=8000), shape_of(size=2000), shape_of(count=400)):
        assert all(own >= one for own, one in zip(asked(verb, larger), least, strict=True))
    for first, second in zip(least, asked(verb, small, attempt=2), strict=True):
        assert GROWTH * first <= second * 1.25
        assert second > first


@pytest.mark.parametrize(
    ("verb", "larger"),
    [
        ("compute-statistics", {"size": 10**4}),
        ("make-outcomes", {"count": 10**4}),
        ("draw", {"size": 10**4}),
        ("fit-weights", {"size": 10**4}),
        ("evaluate-replicate", {"people": 10**6}),
        ("attack-replicate", {"size": 10**4}),
        ("measure-release", {"people": 10**6}),
        ("measure-ld", {"size": 10**4}),
    ],
)
def test_resources__of_the_heavy_verbs_hang_on_what_they_hold(verb, larger):
    memory, minutes = asked(verb, shape_of(**larger))
    least_memory, least_minutes = asked(verb, shape_of())
    assert memory > 2 * least_memory
    assert minutes >= least_minutes


@pytest.mark.parametrize("verb", ["make-outcomes", "compute-statistics"])
def test_resources__of_verbs_that_go_by_parts_do_not_grow_with_people(verb):
    many = {"size": 1000, "count": 1000}
    (memory, minutes), (of_more, longer) = (asked(verb, shape_of(people=n, **many)) for n in (10**5, 10**6))
    assert memory == of_more < 2000
    assert longer >= minutes


def test_resources__shards_share_the_run_time():
    raw = {
        "cohort": {"simulation": {"people": 10**5}},
        "variants": {"size": 1000},
        "outcomes": {"count": 1000},
    }
    one, many = (
        asked("compute-statistics", Shape(resolve(raw | {"scale": {"rows_per_shard": n_rows}})))
        for n_rows in (10**6, 10**4)
    )
    assert many[0] == one[0]
    assert many[1] < one[1]


def test_resources__run_time_of_a_biobank_is_no_minute_and_no_month():
    of = {"people": 500_000, "size": 10_000, "count": 1000}
    heavy = (
        "compute-statistics",
        "make-outcomes",
        "draw",
        "fit-weights",
        "evaluate-replicate",
        "attack-replicate",
    )
    assert all(60 < asked(verb, shape_of(**of))[1] < 7 * 24 * 60 for verb in heavy)


def test_resources__run_time_of_choices_is_that_of_comparisons_of_bits():
    choices = {"wildcards": SimpleNamespace(mechanism="choices")}
    measured = shape_of(people=80_000, size=100_000, count=120, methods=["k-blup"], screening={"size": 10})
    biobank = {"people": 500_000, "size": 20_000, "count": 1000}
    few, more, as_numbers = (
        shape_of(**biobank, methods=[name], screening={"size": n_choices})
        for name, n_choices in (("k-blup", 10), ("k-blup", 40), ("l-blup", 10))
    )
    for verb, seconds, options in (("draw", 146, choices), ("choose-exactly", 115, {})):
        times = measured.n_requests if verb == "draw" else 1
        minutes = asked(verb, measured, **options)[1]
        assert 3 < (60 * minutes - LEAST_SECONDS) / (seconds * times) < 6
        assert asked(verb, few, **options)[1] < 3 * 24 * 60
        assert asked(verb, more, **options)[1] > 3 * asked(verb, few, **options)[1]
        assert asked(verb, as_numbers, **options)[1] > 10 * asked(verb, few, **options)[1]


def test_resources__of_a_mechanism_that_reads_rows_are_more():
    shape = shape_of(people=10**5, methods=["ridge", "tukey"])
    sums, fits = (
        asked("draw", shape, wildcards=SimpleNamespace(mechanism=name))
        for name in ("reusecov-statistics", "tukey-fits")
    )
    assert sums == asked("draw", shape)
    assert fits[0] > sums[0] + 8 * shape.n_rows * shape.n_variants / 10**6
    assert fits[1] > sums[1]


def test_resources__of_choices_hold_outcomes_once_and_scores_in_parts():
    few, many = (shape_of(people=500_000, count=count, methods=["s-blup"]) for count in (100, 1000))
    of_outcomes = 8 * many.n_rows * 900 / 10**6
    more = asked("choose-exactly", many)[0] - asked("choose-exactly", few)[0]
    # As asked memory is rounded up, by a seventh at most.
    assert 0.8 * of_outcomes < more < 1.5 * of_outcomes


def test_resources__a_variant_set_is_held_where_the_linkage_of_the_cohort_decides():
    known = {"people": 500_000, "size": 1_000_000}
    unlinked = known | {"variants": {"size": 1_000_000, "ld_r2": 0.5}}
    assert asked("make-variants", shape_of(**known))[0] < 10**4
    assert asked("make-variants", shape_of(**unlinked))[0] > 5 * 10**5
    # A public list is known before, and so is what is linked in it.
    assert asked("make-variants", shape_of(**unlinked, methods=["blup-ld"]))[0] < 10**4


@pytest.mark.parametrize(
    ("methods", "held"), [(["s-blup"], ()), (["k-blup"], ()), (["l-blup"], ("draw", "exact"))]
)
def test_resources__what_looks_at_some_variants_at_a_time_holds_no_variant_set(methods, held):
    shape = shape_of(people=50_000, size=200_000, count=2, methods=methods)
    genotypes = shape.n_variants * shape.n_people / 4 / 10**6
    wildcards = SimpleNamespace(mechanism="choices")
    found = {"draw": asked("draw", shape, wildcards=wildcards), "exact": asked("choose-exactly", shape)}
    for name, (memory, _) in found.items():
        assert (memory > genotypes) == (name in held)


def test_resources__without_sums_hold_no_square():
    few, many = (shape_of(size=size, methods=["k-blup", "k-ols"]) for size in (2000, 100_000))
    for verb in ("draw", "fit-weights", "choose-exactly", "evaluate-replicate", "render-report"):
        # As much as the variant set has variants, not as their pairs.
        assert asked(verb, many)[0] < 60 * asked(verb, few)[0]
    assert asked("fit-weights", shape_of(size=100_000, methods=["ridge", "k-ols"]))[0] > 10**5


def test_resources__more_requests_take_longer_and_more_threads_more():
    few, many = (
        shape_of(size=2000, count=1000, privacy={"epsilon": epsilon}) for epsilon in ([1], list(range(1, 41)))
    )
    # One request is in memory at a time.
    assert asked("draw", many)[0] == asked("draw", few)[0]
    assert asked("draw", many)[1] > asked("draw", few)[1]
    assert asked("render-report", few, threads=8)[0] > asked("render-report", few, threads=1)[0]


def test_resources__of_the_reference_are_those_of_its_own_people():
    raw = {"cohort": {"simulation": {"people": 10**5, "reference_people": 100}}, "variants": {"size": 1000}}
    config = resolve(raw)
    own, reference = (asked("measure-ld", kind(config))[0] for kind in (Shape, ReferenceShape))
    assert own > 2 * reference


# Measured peaks in MB, of docs/measurements/scale.md.
@pytest.mark.parametrize(("people", "peak"), [(100_000, 372), (500_000, 438)])
def test_resources__to_ingest_many_people(people, peak):
    shape = shape_of(cohort={"source": "plink", "plink": "absent.bed", "rows": "people"})
    shape.n_file_people, shape.n_file_variants = people, 10_000
    memory, minutes = asked("ingest-chromosome", shape, threads=2)
    assert peak < memory < 2 * peak
    assert minutes < 30


# Peaks in MB and CPU seconds of jobs of a release of a million variants, of docs/measurements/genome.md.
MILLION = [
    ("ingest-chromosome", 750, 337, 2),
    ("choose-sites", 750, 640, 13),
    ("make-variants", 750, 653, 27),
    ("make-loadings", 750, 659, 56),
    ("measure-ld", 750, 1300, 517),
    ("ingest-chromosome", 5000, 479, 5),
    ("make-variants", 5000, 712, 45),
    ("make-covariates", 5000, 554, 66),
    ("measure-people", 5000, 644, 18),
    ("sum-genome", 5000, 576, 12),
    ("draw", 5000, 423, 17),
    ("fit-weights", 5000, 811, 268),
    ("measure-release", 5000, 264, 14),
    ("write-release", 5000, 637, 28),
    ("render-release-report", 5000, 719, 31),
]


def release_of_genome(people, *, size=10**6, **cohort):
    release = {
        "privacy": {"epsilon": [3], "protection": "full", "accounting": "gdp"},
        "methods": ["blup-genome"],
        "cohort": {
            "source": "plink",
            "plink": "absent.bed",
            "rows": "people",
            "chromosomes": [*range(1, 23)],
        }
        | cohort,
        "variants": {"size": size},
        "outcomes": {"count": 3},
        "covariates": {
            "file": "absent.tsv",
            "scales": "absent.tsv",
            "columns": ["a", "b", "c", "d"],
            "pcs": 2,
        },
    }
    return PlannedShape(resolve(release), people)


@pytest.mark.parametrize(("verb", "people", "peak", "seconds"), MILLION)
def test_resources__of_a_million_variants_are_one_to_three_times_what_was_used(verb, people, peak, seconds):
    shape = release_of_genome(people)
    memory, minutes = asked(verb, shape, threads=2 if verb == "ingest-chromosome" else 1)
    assert peak < memory < 3 * peak
    # Rounding up adds a seventh at most.
    assert max(LEAST_SECONDS, 3 * seconds) <= 60 * minutes < 8 / 7 * (LEAST_SECONDS + 5 * seconds) + 60


# Peaks in MB with 80,000 variants of a chromosome, of docs/measurements/scale.md.
@pytest.mark.parametrize(("people", "field", "peak"), [(131_072, "GT", 763), (20_480, "DS", 1115)])
def test_resources__of_the_pass_over_a_long_chromosome(people, field, peak):
    shape = release_of_genome(people, size=880_000, source="plink", plink="absent.pgen", field=field)
    assert peak < asked("sum-genome", shape)[0] < 3 * peak


@pytest.mark.parametrize(
    ("number", "rounded"), [(1, 1), (7.2, 8), (301, 320), (320, 320), (321, 384), (1025, 1280)]
)
def test_rounded_up__to_three_binary_digits(number, rounded):
    assert rounded_up(number) == rounded


def test_resources__tell_the_number_of_people_roughly():
    found = {asked("compute-statistics", shape_of(people=n)) for n in range(100_000, 110_000, 500)}
    assert len(found) <= 3


def test_resources__of_an_unknown_verb_are_an_error():
    with pytest.raises(KeyError):
        resources_of("no-such-verb", shape_of())
