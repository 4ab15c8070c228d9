"""Maps of a panel in their file, and people along them, against Python's integers and single steps."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.genotypes.dosages import STEPS_PER_ALLELE
from dpgrs.io import people_slabs
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import load_labelled, save_labelled
from dpgrs.linalg.components import components_of
from dpgrs.linalg.genome_map import mapped_rows
from dpgrs.linalg.genome_moments import ChromosomeMoments, chromosome_moments
from dpgrs.linalg.genome_prior import HERITABILITY
from dpgrs.linalg.genome_sums import SUM_STEP, ChromosomeSums, exact_sums, outcome_weights
from dpgrs.methods.genome_sums import map_terms
from dpgrs.planning.public_variants import planned_variants
from dpgrs.steps import measure_people as measure_step
from dpgrs.steps import sum_genome as sum_step
from dpgrs.steps.measure_people import measure_people
from dpgrs.steps.sum_genome import sum_genome
from dpgrs.study import genome_maps, genome_people, public_panel
from dpgrs.study.genome_maps import panel_variances, require_panel, stored_map, stored_maps
from dpgrs.study.genome_people import (
    contig_moments,
    contig_sums,
    measured_people,
    moments_item,
    people_axes,
    people_moments,
    sums_digest,
    sums_item,
)
from dpgrs.study.public_panel import map_items, stored_spectra
from dpgrs.study.settings import resolve
from dpgrs.study.training_data import load_chromosomes
from genome_maps import exact_sums_of
from genome_studies import (
    CONTIGS,
    FREQUENCIES,
    FREQUENCY,
    N_PANEL,
    D,
    N,
    items_of_map,
    map_of_variants,
    people_of,
    request_of,
)
from refused import refused
from step_settings import settings_for


@pytest.fixture(scope="module")
def alleles():
    rng = np.random.default_rng(3)
    return (rng.random((D, 2 * N)) < np.tile(FREQUENCY, 2)[:, np.newaxis]).astype(np.uint8)


@pytest.fixture(scope="module")
def outcomes():
    values = np.random.default_rng(4).standard_normal((3, N))
    values[1, ::5] = np.nan
    is_training = np.arange(N) % 7 > 0
    return Outcomes(("a", "b", "c"), {D: values}, {}, is_training, "people")


@pytest.fixture(params=[False, True], ids=["by chromosome", "jointly"])
def stored(request, tmp_path):
    """A map with one axis of ancestry, in a file."""
    options = {"clip": 1.25, "contigs": CONTIGS, "n_axes": 1, "is_clipped_jointly": request.param}
    genome = map_of_variants(FREQUENCY, **options)
    save_labelled(
        tmp_path / "map.npz", items_of_map(genome, map_terms(request_of()), planned_rows=60, n_summed=2)
    )
    return stored_map(tmp_path / "map.npz", map_terms(request_of()))


def test_stored_map__is_what_was_written(stored):
    genome = map_of_variants(FREQUENCY, clip=1.25, contigs=CONTIGS, n_axes=1)
    assert stored.contigs == list(CONTIGS)
    assert stored.genome.clip == 1.25
    assert stored.attenuations.tolist() == stored.genome.attenuations.tolist() == [0.9, 0.9]
    assert stored.genome.axis_shares.tolist() == genome.axis_shares.tolist()
    assert stored.label["digest"] == stored.genome.digest
    assert (stored.genome.digest == genome.digest) != stored.label["is_clipped_jointly"]
    np.testing.assert_array_equal(
        stored.chromosome("2").blocks[1].matrix, genome.chromosomes[1].blocks[1].matrix
    )


def test_stored_map__of_another_request_or_changed_is_refused(stored, tmp_path):
    with refused("genome-map-of-another-request"):
        stored_map(tmp_path / "map.npz", map_terms(request_of(epsilon=1.0)))
    genome = map_of_variants(FREQUENCY, clip=1.25, contigs=CONTIGS, n_axes=1)
    items = list(items_of_map(genome, map_terms(request_of()), planned_rows=60, n_summed=2))
    items[1][1]["block0_matrix"][0, 0] += 1
    save_labelled(tmp_path / "changed.npz", items)
    with refused("genome-map-changed"):
        _ = stored_maps(tmp_path / "changed.npz")[0].genome


@pytest.mark.parametrize("has_dosages", [False, True])
@pytest.mark.parametrize("n_together", [2, 1024])
def test_panel_variances__are_of_scores_and_of_the_parts_of_chromosomes(monkeypatch, n_together, has_dosages):
    monkeypatch.setattr(genome_maps, "SCORED_TOGETHER", n_together)
    rng = np.random.default_rng(8)
    alleles = rng.integers(0, 2, (D, 2 * N_PANEL)).astype(np.uint8)
    dosages = (alleles[:, ::2] + alleles[:, 1::2]).astype(np.float64)
    known = {}
    if has_dosages:
        known = {"has_dosages": True, "dosages": lambda rows: dosages[rows] * np.float32(STEPS_PER_ALLELE)}
    genome = map_of_variants(FREQUENCY, clip=1.25, contigs=CONTIGS)
    weights = np.split(rng.standard_normal((3, D)), 2, axis=1)
    variances = panel_variances(people_of(alleles, **known), genome, weights)
    parts = [w @ x for w, x in zip(weights, np.split(dosages, 2), strict=True)]
    np.testing.assert_allclose(variances.of_scores, sum(parts).var(axis=1))
    np.testing.assert_allclose(variances.of_chromosomes, sum(part.var(axis=1) for part in parts))
    assert variances.n_people == N_PANEL


@pytest.mark.parametrize(
    ("n_people", "frequency"), [(N_PANEL - 1, FREQUENCIES), (N_PANEL, FREQUENCIES + 0.01)]
)
def test_panel_variances__of_another_panel_are_refused(n_people, frequency):
    genome = map_of_variants(FREQUENCY, clip=1.25, contigs=CONTIGS)
    panel = people_of(np.zeros((D, 2 * n_people), dtype=np.uint8), frequency)
    with refused("panel-of-another-map"):
        panel_variances(panel, genome, np.split(np.ones((1, D)), 2, axis=1))


def test_require_panel__people_of_as_many_and_the_same_frequencies_are_refused(stored):
    maps, alleles = [stored], np.zeros((D, 2 * N_PANEL), dtype=np.uint8)
    require_panel(people_of(alleles), maps)
    cohort = people_of(alleles, sample_id=np.array([f"C{number}" for number in range(N_PANEL)]))
    with refused("panel-of-another-map"):
        require_panel(cohort, maps)


@pytest.mark.parametrize("n_together", [64, 10**6])
def test_contig_sums__are_those_of_python_integers(alleles, outcomes, stored, monkeypatch, n_together):
    monkeypatch.setattr(people_slabs, "CHUNK_PEOPLE", n_together)
    monkeypatch.setattr(genome_people, "AXIS_PEOPLE", n_together)
    people = people_of(alleles)
    measured = measured_people(people, stored)
    is_joint = stored.label["is_clipped_jointly"]
    assert ("factors" in measured) == is_joint
    steps = 4096 * (alleles[:, ::2] + alleles[:, 1::2]).astype(int)
    values = np.where(outcomes.is_training, outcomes.values[D][:2], 0)
    for number, contig in enumerate(CONTIGS):
        sums = contig_sums(people, outcomes, stored, contig, measured=measured, outcome_bound=3.0)
        own = steps[number * 5 : number * 5 + 5]
        y = clipped(values, 3.0, 1.25)
        assert (sums.contig, sums.is_clipped_jointly) == (contig, is_joint)
        if is_joint:
            centred = own - stored.chromosome(contig).centre[:, np.newaxis]
            weights = outcome_weights(y, measured["factors"])
            np.testing.assert_array_equal(sums.variants, weights @ centred.T)
            np.testing.assert_array_equal(sums.axes, weights @ measured["axes"].T)
            continue
        rows = [(own[:, i], measured["axes"][:, i], y[:, i]) for i in range(N)]
        high, low = exact_sums(sums, stored.chromosome(contig))
        exact = exact_sums_of(rows, stored.chromosome(contig))
        found = [
            [int(a) * 2**24 + int(b) for a, b in zip(*pair, strict=True)]
            for pair in zip(high, low, strict=True)
        ]
        assert found == exact


def clipped(values, bound, norm):
    from dpgrs.linalg.outcome_grid import clipped_outcomes

    return clipped_outcomes(np.where(values == 0, np.nan, values), bound=bound, norm=norm, n_shared=2)


def test_axes__are_the_first_variant_over_its_deviation(alleles, stored):
    axes = people_axes(people_of(alleles), stored)
    dosage = alleles[0, ::2] + alleles[0, 1::2]
    p = FREQUENCY[0]
    np.testing.assert_allclose(axes[0] / 4096, (dosage - 2 * p) / np.sqrt(2 * p * (1 - p)), atol=1e-3)


@pytest.mark.parametrize("has_dosages", [False, True])
def test_axes__are_exact_whatever_people_and_variants_are_read_together(alleles, monkeypatch, has_dosages):
    rng = np.random.default_rng(5)
    chromosomes = {
        contig: SimpleNamespace(
            pruned=np.array([0, 1, 3, 4]),
            centre=rng.integers(0, 2**13, 5),
            axis_loadings=rng.integers(-(2**30), 2**30, (4, 2)),
        )
        for contig in CONTIGS
    }
    label = {"n_axes": 2, "terms": {"n_variants": D}}
    stored = SimpleNamespace(label=label, contigs=CONTIGS, chromosome=chromosomes.get)
    dosages = 4096 * (alleles[:, ::2] + alleles[:, 1::2]).astype(object)
    sums = 0
    for number, chromosome in enumerate(chromosomes.values()):
        centred = dosages[5 * number + chromosome.pruned] - chromosome.centre[chromosome.pruned, np.newaxis]
        sums = sums + chromosome.axis_loadings.T.astype(object) @ centred
    known = {"has_dosages": True, "dosages": lambda *selection: dosages[selection].astype(np.uint16)}
    people = people_of(alleles, **known if has_dosages else {})
    for n_variants, n_people in ((1, 64), (3, 32), (1024, 4096)):
        monkeypatch.setattr(genome_people, "AXIS_VARIANTS", n_variants)
        monkeypatch.setattr(genome_people, "AXIS_PEOPLE", n_people)
        axes = people_axes(people, stored)
        np.testing.assert_array_equal(axes, (sums + 2**23) // 2**24)


def test_sums__of_those_who_are_not_trained_on_are_zero(alleles, outcomes, stored):
    nobody = Outcomes(outcomes.names, outcomes.values, {}, np.zeros(N, dtype=bool), "people")
    people = people_of(alleles)
    options = {"measured": measured_people(people, stored), "outcome_bound": 3.0}
    assert not contig_sums(people, nobody, stored, "1", **options).variants.any()
    assert contig_sums(people, outcomes, stored, "1", **options).variants.any()


def test_load_chromosomes__sums_are_of_one_map(alleles, outcomes, stored, tmp_path):
    people = people_of(alleles)
    options = {"measured": measured_people(people, stored), "outcome_bound": 3.0}
    sums = [contig_sums(people, outcomes, stored, contig, **options) for contig in CONTIGS]
    paths = [tmp_path / f"{contig}.npz" for contig in CONTIGS]
    for path, part in zip(paths, sums, strict=True):
        label, arrays = sums_item(part)
        assert label.keys() | arrays.keys() == vars(part).keys()
        assert arrays.keys() == {"variants", "axes"}
        save_labelled(path, [(label, arrays)])
    loaded = load_chromosomes(paths, sums_digest(stored, None), ChromosomeSums)
    for found, part in zip(loaded, sums, strict=True):
        assert found.contig == part.contig
        np.testing.assert_array_equal(
            found.direction_sums(stored.chromosome(part.contig)) * SUM_STEP,
            part.direction_sums(stored.chromosome(part.contig)) * SUM_STEP,
        )
    with refused("genome-sums-of-another-map"):
        load_chromosomes(paths, "another", ChromosomeSums)


def test_contig_sums__are_of_components_if_outcomes_have_loadings(alleles, outcomes, stored):
    """Those that are summed, clipped at the bound before their norm."""
    loadings = np.array([[0.8, 0.1], [0.3, 0.9], [0.7, -0.2]])
    mapped = components_of(outcomes.values[D], loadings, bound=0.5)
    people, options = people_of(alleles), {"outcome_bound": 0.5}
    options["measured"] = measured_people(people, stored)
    sums = contig_sums(people, replace(outcomes, loadings=loadings), stored, "1", **options)
    expected = contig_sums(people, replace(outcomes, values={D: mapped}), stored, "1", **options)
    np.testing.assert_array_equal(sums.variants, expected.variants)
    without_bound = contig_sums(people, outcomes, stored, "1", **options | {"outcome_bound": 3.0})
    assert (expected.variants != without_bound.variants).any()


def test_contig_sums__name_the_effects_of_covariates_that_outcomes_are_less(alleles, outcomes, stored):
    people, effects = people_of(alleles), np.ones((3, 2))
    adjusted = replace(outcomes, covariate_effects=effects)
    options = {"measured": measured_people(people, stored), "outcome_bound": 3.0}
    made_with = contig_sums(people, adjusted, stored, "1", **options).made_with
    assert made_with == contig_moments(adjusted, stored, "1").moments().made_with
    assert made_with == sums_digest(stored, effects) != sums_digest(stored, None)


def test_contig_sums__of_outcomes_of_other_people_are_refused(alleles, outcomes, stored):
    people, fewer = people_of(alleles), people_of(alleles[:, :-2])
    for refuse in (
        lambda: contig_sums(fewer, outcomes, stored, "1", measured={}, outcome_bound=3.0),
        lambda: people_moments(fewer, outcomes, stored),
    ):
        with refused("people-differ"):
            refuse()
    assert len(people_moments(people, outcomes, stored)) == len(CONTIGS)


def test_measured_people__are_shrunk_by_their_rows_of_all_chromosomes(alleles, stored):
    measured = measured_people(people_of(alleles), stored)
    if not stored.label["is_clipped_jointly"]:
        assert measured.keys() == {"axes"}
        return
    steps = 4096 * (alleles[:, ::2] + alleles[:, 1::2]).astype(int)
    chromosomes = stored.genome.chromosomes
    centred = np.split(steps - np.concatenate([one.centre for one in chromosomes])[:, np.newaxis], 2)
    rows = [mapped_rows(one, x.T, measured["axes"].T) for one, x in zip(chromosomes, centred, strict=True)]
    norm = np.linalg.norm([one.row_norm for one in chromosomes])
    lengths = np.linalg.norm(np.hstack(rows), axis=1)
    assert lengths.min() < norm < lengths.max()
    np.testing.assert_allclose(measured["factors"], np.minimum(1, norm / lengths), rtol=1e-6)


@pytest.fixture
def steps(alleles, outcomes, tmp_path, monkeypatch):
    """Paths of a file of two maps, of people along them, and of outcomes, and the variant set."""
    people, items = people_of(alleles), []
    for epsilon, is_joint in ((2.0, False), (4.0, True)):
        genome = map_of_variants(FREQUENCY, clip=1.25, contigs=CONTIGS, n_axes=1, is_clipped_jointly=is_joint)
        items += items_of_map(genome, map_terms(request_of(epsilon=epsilon)), planned_rows=60, n_summed=2)
    save_labelled(tmp_path / "map.npz", items)
    outcomes.save(tmp_path / "outcomes.zarr")
    for module in (measure_step, sum_step):
        monkeypatch.setattr(module, "VariantSet", SimpleNamespace(open=lambda path: people))
    measure_people(tmp_path / "variants", ld=tmp_path / "map.npz", output=tmp_path / "people.npz")
    return tmp_path, people


@pytest.mark.parametrize("ld_share", [None, 0.1])
@pytest.mark.parametrize("group", [{}, {"shard": 1, "shards": 2}, {"shard": 2, "shards": 2}])
def test_sum_genome__are_sums_of_a_group_of_chromosomes_along_each_map(steps, outcomes, ld_share, group):
    """Beside the moments of each chromosome, if these have a share of the budget."""
    folder, people = steps
    config = resolve(
        {"outcomes": {"bound": 0.5}, "methods": ["blup-genome"], "privacy": {"ld_share": ld_share}}
    )
    paths = [folder / name for name in ("variants", "outcomes.zarr", "people.npz")]
    files = {"ld": folder / "map.npz", "output": folder / "sums.npz"}
    sum_genome(settings_for("sum-genome", config), *paths, **files, **group)
    expected, moments = [], None
    for stored in stored_maps(folder / "map.npz"):
        options = {"measured": measured_people(people, stored), "outcome_bound": 0.5}
        for contig in [CONTIGS[group["shard"] - 1]] if group else CONTIGS:
            if ld_share is not None:
                moments = contig_moments(outcomes, stored, contig)
            sums = contig_sums(people, outcomes, stored, contig, **options, moments=moments)
            expected += [sums_item(sums)] + ([moments_item(moments.moments())] if moments else [])
    np.testing.assert_equal(
        [(label, dict(arrays)) for label, arrays in load_labelled(files["output"])], expected
    )


def test_sum_genome__a_group_that_does_not_exist_is_refused(tmp_path):
    absent, settings = tmp_path / "absent", settings_for("sum-genome")
    with refused("shard-out-of-range", "`--shards`", "got 3", error=UsageError):
        sum_genome(settings, absent, absent, absent, ld=absent, shard=3, shards=2, output=absent)


def test_sum_genome__people_along_another_map_are_refused(stored, tmp_path):
    """Before their genotypes are read."""
    save_labelled(tmp_path / "people.npz", [({"map": "0" * 64}, {"axes": np.zeros((1, N), dtype=np.int64)})])
    absent, files = tmp_path / "absent.zarr", {"ld": tmp_path / "map.npz", "output": tmp_path / "sums.npz"}
    with refused("people-of-another-map"):
        sum_genome(settings_for("sum-genome"), absent, absent, tmp_path / "people.npz", **files)


def test_moments__are_of_those_who_are_trained_on_beside_their_sums(alleles, outcomes, stored, tmp_path):
    """Whether rows of sums are clipped by chromosome or jointly, and with the axes of each person."""
    people, made_with = people_of(alleles), sums_digest(stored, None)
    options = {"measured": measured_people(people, stored), "outcome_bound": 3.0}
    paths, everybody = [], []
    for contig in CONTIGS:
        moments = contig_moments(outcomes, stored, contig)
        sums = contig_sums(people, outcomes, stored, contig, moments=moments, **options)
        np.testing.assert_array_equal(
            sums.variants, contig_sums(people, outcomes, stored, contig, **options).variants
        )
        paths.append(tmp_path / f"{contig}.npz")
        save_labelled(paths[-1], [sums_item(sums), moments_item(moments.moments())])
        everybody.append(moments.moments())
        assert moments_item(everybody[-1])[1].keys() == {"entries"}
        columns, trained = slice(*((0, 5) if contig == "1" else (5, 10))), outcomes.is_training
        alone = chromosome_moments(
            people_slabs.people_slabs(
                people_of(alleles[:, np.repeat(trained, 2)]),
                np.arange(D)[columns],
                stored.chromosome(contig).centre,
            ),
            stored.chromosome(contig),
            axes=options["measured"]["axes"][:, trained],
            is_counted=np.ones(trained.sum(), dtype=bool),
            made_with=made_with,
        )
        assert alone.entries.any()
        np.testing.assert_array_equal(alone.entries, everybody[-1].entries)
    for part, of_people in zip(everybody, people_moments(people, outcomes, stored), strict=True):
        np.testing.assert_equal(vars(of_people), vars(part))
    for found, part in zip(load_chromosomes(paths, made_with, ChromosomeMoments), everybody, strict=True):
        assert (found.contig, found.made_with, found.norm) == (part.contig, made_with, part.norm)
        np.testing.assert_array_equal(found.entries, part.entries)
    assert [part.contig for part in load_chromosomes(paths, made_with, ChromosomeSums)] == list(CONTIGS)
    for kind in (ChromosomeSums, ChromosomeMoments):
        with refused("genome-sums-of-another-map"):
            load_chromosomes(paths, "another", kind)


def test_map_items__are_one_for_each_budget_and_size(alleles, tmp_path):
    requests = [request_of(), request_of(epsilon=4.0), request_of()]
    save_labelled(tmp_path / "maps.npz", map_items(people_of(alleles), requests, planned_rows=60, n_summed=2))
    maps = stored_maps(tmp_path / "maps.npz")
    assert [stored.contigs for stored in maps] == [["1", "2"]] * 2
    assert len({stored.digest for stored in maps}) == 2
    for stored in maps:
        # The digest that was added up as the map was made is that of the whole.
        assert stored.genome.digest == stored.digest
        assert stored.genome.n_panel == N
    ((spectrum, n_panel),) = stored_spectra(tmp_path / "maps.npz").values()
    assert n_panel == N
    assert spectrum.counts.sum() == D
    assert spectrum.counts @ spectrum.variances == pytest.approx(HERITABILITY)


def test_map_items__plan_takes_the_spectrum_of_the_panel(alleles, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = resolve({"study": "s", "methods": ["blup-genome"], "variants": {"size": D}})
    path = tmp_path / "results" / "s" / "public" / "ld.npz"
    path.parent.mkdir(parents=True)
    assert "a simulated population" in planned_variants(config, 100).of_spectra
    save_labelled(path, map_items(people_of(alleles), [request_of()], planned_rows=60, n_summed=2))
    assert [stored.contigs for stored in stored_maps(path)] == [["1", "2"]]
    planned, (spectrum, n_panel) = planned_variants(config, 100), stored_spectra(path)[D]
    assert planned.of_spectra.startswith(f"the {n_panel} people of the public panel in results")
    np.testing.assert_array_equal(planned.spectra[D].variances, spectrum.variances)
    np.testing.assert_array_equal(planned.spectra[D].counts, spectrum.counts)
    assert n_panel == N


def test_map_items__equal_shares_or_moments_of_axes_alone_are_refused(alleles, tmp_path, monkeypatch):
    """Nothing along LD blocks could be published of what was charged."""
    made = public_panel.MapMaking.genome

    def save(request, **options):
        items = map_items(people_of(alleles), [request], planned_rows=60, n_summed=2, **options)
        save_labelled(tmp_path / "maps.npz", items)

    def of_axes(making, chromosomes):
        return replace(made(making, chromosomes), axis_shares=np.array([1.0]))

    save(request_of(), has_equal_shares=True)
    monkeypatch.setattr(public_panel.MapMaking, "genome", of_axes)
    save(request_of())
    with refused("no-share-for-blocks", "`privacy.direction_shares`", error=UsageError):
        save(request_of(), has_equal_shares=True)
    with refused("no-share-for-blocks", "`privacy.ld_share`", error=UsageError):
        save(replace(request_of(), ld_share=0.1))


def test_map_items__rare_alleles_of_the_panel_are_refused(alleles):
    frequency = np.tile(FREQUENCY, 2)
    frequency[3] = 0.004
    with refused("variants-too-rare", error=UsageError):
        list(map_items(people_of(alleles, frequency), [request_of()], planned_rows=60, n_summed=2))
