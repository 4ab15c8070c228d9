"""Sums of centres: added they are those of one cohort, byte for byte; what does not belong is refused."""

import json
import os
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import pyrage
import pytest
from click.testing import CliRunner

from centres import CENTRES, CONFIG, NAMES, SCALES, TERMS, D, all_centres, changed_gram, set_entry, sums
from dpgrs.cli.main import main
from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import arrays_as_bytes, file_digest, write_text, written_digest
from dpgrs.io.json_files import write_json
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import summed_outcomes
from dpgrs.preflight.checks import check
from dpgrs.privacy.age_files import create_age_key, encrypted
from dpgrs.steps.export_sums import combine, export
from dpgrs.steps.take_sums import take_sums
from dpgrs.study.centre_sums import AGREED, AGREED_KEYS, CentreSums, combined, sums_of_study, terms_of
from dpgrs.study.input_files import content_marks
from dpgrs.study.made_by import note, require_made_by, settings_along
from dpgrs.study.settings import resolve
from dpgrs.study.verbs import read_verb
from refused import refused
from step_settings import settings_for


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Where public scales lie, the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scales.tsv").write_text(SCALES)
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "bounds", "budget"),
    [
        *product(("people", "haplotypes"), ("tight", "worst-case"), ("joint", "separate")),
        ("dosages", "tight", "joint"),
    ],
)
def test_combined__of_three_centres_is_one_cohort(kind, bounds, budget):
    whole = sums(kind=kind, bounds=bounds, budget=budget)
    for order in permutations(all_centres(kind=kind, bounds=bounds, budget=budget)):
        found = combined(order)
        assert arrays_as_bytes(found.statistics.arrays()) == arrays_as_bytes(whole.statistics.arrays())
        assert found.outcomes.names == NAMES
        assert set(found.centres) == set(CENTRES)


def test_saved__is_closed_and_read_again(tmp_path):
    whole = sums()
    whole.save(tmp_path / "sums.npz")
    assert (tmp_path / "sums.npz").stat().st_mode & 0o777 == 0o600
    assert CentreSums.load(tmp_path / "sums.npz").as_bytes() == whole.as_bytes()
    assert summed_outcomes(tmp_path / "sums.npz") == [*NAMES]


def test_load__raise_on_another_kind(tmp_path):
    sums().statistics.save(tmp_path / "statistics.npz")
    with refused("not-sums-of-centres"):
        CentreSums.load(tmp_path / "statistics.npz")
    with refused("not-sums-of-centres"):
        summed_outcomes(tmp_path / "statistics.npz")
    with refused("sums-format"):
        CentreSums.load("a", content=sums(terms={"format": 1}).as_bytes())


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (sums(CENTRES["south"], name="north"), "got north twice"),
        (sums(CENTRES["north"], name="south"), r"other sums than a\.age, got the same"),
        (
            sums(CENTRES["south"], name="south", terms=TERMS | {"privacy.epsilon": "[3]"}),
            "same privacy.epsilon as",
        ),
        (sums(CENTRES["south"], name="south", bounds="worst-case"), "same outcomes and variants as"),
        (sums(CENTRES["south"], name="south", kind="dosages"), "same outcomes and variants as"),
        (sums(CENTRES["south"], name="south", budget="separate"), "same columns and norms as"),
    ],
)
def test_combined__raise_on_what_does_not_belong_together(second, said):
    with pytest.raises(DpgrsError, match=rf"`b\.age` must be .*{said}"):
        combined([("a.age", sums(CENTRES["north"], name="north")), ("b.age", second)])


def test_combined__raise_on_other_outcomes_and_overflow():
    first, second = sums(CENTRES["north"], name="north"), sums(CENTRES["south"], name="south")
    other = replace(second, outcomes=replace(second.outcomes, names=("a", "b", "d")))
    with refused("sums-of-other-outcomes"):
        combined([("a.age", first), ("b.age", other)])
    huge = [changed_gram(part, set_entry(0, 0, 2**62)) for part in (first, second)]
    with refused("sums-too-large"):
        combined(zip("ab", huge, strict=True))


@pytest.fixture
def exports(tmp_path):
    """The coordinator's key, and an export of every centre."""
    public, paths = create_age_key(tmp_path / "secret" / "key"), []
    for name, part in zip(CENTRES, all_centres(), strict=True):
        paths.append(tmp_path / f"{name}.age")
        paths[-1].write_bytes(encrypted(part[1].as_bytes(), public_key=public))
    return tmp_path / "secret" / "key", paths


def run_combine(key, paths, output):
    return CliRunner().invoke(
        main, ["centre", "combine", *map(str, paths), "--key", str(key), "--output", str(output)]
    )


def test_combine__writes_the_sums_of_all(exports, tmp_path):
    key, paths = exports
    assert paths[0].read_bytes().startswith(b"age-encryption.org/v1\n")
    assert b"north" not in paths[0].read_bytes()
    done = run_combine(key, paths, tmp_path / "sums.npz")
    assert done.exit_code == 0
    assert all(f"{name}: " in done.output for name in CENTRES)
    sent = CentreSums.load(tmp_path / "sums.npz")
    assert dict(zip(sent.centres, sent.exports, strict=True)) == {
        path.stem: file_digest(path) for path in paths
    }
    found = sent.statistics.arrays()
    assert arrays_as_bytes(found) == arrays_as_bytes(sums().statistics.arrays())


def cut(content):
    return content[:-1]


def repeated(content):
    return content + content


def flipped(content):
    return content[:-20] + bytes([content[-20] ^ 1]) + content[-19:]


def for_another_key(content):
    other = pyrage.x25519.Identity.generate().to_public()
    return pyrage.encrypt(b"", [other])


@pytest.mark.parametrize("spoil", [cut, repeated, flipped, for_another_key, lambda content: b""])
def test_combine__raise_on_a_spoilt_export(exports, tmp_path, spoil):
    key, paths = exports
    paths[1].write_bytes(spoil(paths[1].read_bytes()))
    done = run_combine(key, paths, tmp_path / "sums.npz")
    assert done.exit_code == 1
    (line,) = done.output.splitlines()
    assert f"`{paths[1]}` must be a whole file that was encrypted to the key" in line
    assert not [path for path in tmp_path.iterdir() if "sums" in path.name]


def test_combine__raise_on_one_sent_twice_and_one_of_several(exports, tmp_path):
    key, paths = exports
    with refused("centre-twice", "north"):
        combine([*paths, paths[0]], key=key, output=tmp_path / "sums.npz")
    several = combined(all_centres()).as_bytes()
    public = key.read_text().split()[3]
    paths[0].write_bytes(encrypted(several, public_key=public))
    with refused("not-an-export"):
        combine(paths, key=key, output=tmp_path / "sums.npz")
    assert not (tmp_path / "sums.npz").exists()


def test_key__is_closed_and_made_once(tmp_path):
    path = tmp_path / "secret" / "key"
    public = create_age_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    secret = pyrage.x25519.Identity.from_str(path.read_text().splitlines()[1])
    assert str(secret.to_public()) == public
    with refused("file-exists", error=UsageError):
        create_age_key(path)
    with refused("path-not-private", error=UsageError):
        create_age_key(tmp_path / "results" / "key")


def test_decrypted__raise_on_an_open_or_absent_key(exports, tmp_path):
    key, paths = exports
    key.chmod(0o640)
    with refused("key-file-open", error=UsageError):
        combine(paths, key=key, output=tmp_path / "sums.npz")
    (tmp_path / "empty").touch(mode=0o600)
    with refused("age-key-missing", error=UsageError):
        combine(paths, key=tmp_path / "empty", output=tmp_path / "sums.npz")


def test_encrypted__raise_on_no_public_key():
    with refused("public-key-invalid", "got ssh-rsa", error=UsageError):
        encrypted(b"", public_key="ssh-rsa")


def test_take_sums__reads_all_that_is_agreed():
    assert {*read_verb("take-sums").reads} == {*AGREED, *AGREED_KEYS}


def test_terms__are_of_no_path_and_of_every_other_agreed_key():
    first = terms_of(resolve(CONFIG), site_digest="0" * 64)
    one_side = {"sums": None, "vcf": "{chrom}.vcf", "part": True, "in_turn": True}
    elsewhere = CONFIG | {"cohort": CONFIG["cohort"] | one_side}
    assert terms_of(resolve(elsewhere), site_digest="0" * 64) == first
    assert terms_of(resolve(CONFIG), site_digest="1" * 64) != first
    own = {"approved_by": "another", "dar_id": "2", "approval_date": "2026-02-01"}
    for same in (
        {"dataset": CONFIG["dataset"] | own},
        {"methods": ["ridge"]},
        {"regression": {"lambda": 7, "joint_projection": True}},
    ):
        assert terms_of(resolve(CONFIG | same), site_digest="0" * 64) == first
    for changed in (
        {"seed": 2},
        {"privacy": {"epsilon": 3}},
        {"variants": {"size": 8}},
        {"methods": ["adassp"]},
        {"release": CONFIG["release"] | {"preprocessing": "other"}},
    ):
        assert terms_of(resolve(CONFIG | changed), site_digest="0" * 64) != first
    assert json.loads(json.dumps(first)) == first


@pytest.fixture
def taken():
    """Sums of the terms of `CONFIG`, in the working folder."""
    sums(terms=terms_of(resolve(CONFIG), site_digest="0" * 64)).save("sums.npz")


def every_line(raw):
    """Return what a check says; but for sums no file of the study is there."""
    with pytest.raises(UsageError) as raised:
        check(raw)
    return str(raised.value).splitlines()


def lines_of(raw):
    """Return what a check says of sums or parts."""
    return [line for line in every_line(raw) if "cohort.sums" in line or "cohort.part" in line]


def changed(**sections):
    return CONFIG | {name: CONFIG.get(name, {}) | section for name, section in sections.items()}


@pytest.mark.usefixtures("taken")
def test_check__takes_sums_of_its_terms():
    assert lines_of(CONFIG) == []
    assert lines_of(changed(cohort={"sums": None, "vcf": "x.vcf", "part": True})) == []


def test_check__takes_codes_of_consent_that_every_centre_has_a_table_for():
    config = changed(people={"consent": {"allow": ["1"]}})
    own = config | {
        "cohort": CONFIG["cohort"] | {"sums": None, "vcf": "x.vcf", "part": True},
        "people": {"consent": {"file": "c.tsv", "allow": ["1"]}},
    }
    agreed, of_centre = (terms_of(resolve(raw), site_digest="0" * 64) for raw in (config, own))
    assert agreed == of_centre
    assert agreed["identity"]["people"] == {"consent": {"column": "consent", "allow": ["1"]}}
    sums(terms=agreed).save("sums.npz")
    assert lines_of(config) == lines_of(own) == []
    for raw in (config, own):
        assert not [line for line in every_line(raw) if "people." in line]
    without = own | {"people": config["people"]}
    assert any("must come with `people.consent.file`" in line for line in every_line(without))
    nobody = config | {"people": {"consent": {"allow": ["0"]}}}
    assert any("`people.consent.allow` must hold codes of people" in line for line in every_line(nobody))


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (changed() | {"mode": "benchmark"}, "`cohort.sums` must be left out in a benchmark"),
        (changed(cohort={"part": True}), "`cohort.sums` must be left out beside `cohort.part`"),
        (
            changed(cohort={"source": "simulate"}),
            "`cohort.source` must be vcf, plink or bgen with `cohort.sums`",
        ),
        (changed(cohort={"vcf": "x.vcf"}), "`cohort.vcf` must be left out with `cohort.sums`"),
        (changed(outcomes={"file": "y.tsv"}), "`outcomes.file` must be left out with `cohort.sums`"),
        (changed(people={"keep": "k.txt"}), "`people.keep` must be left out with `cohort.sums`"),
        (
            changed(people={"consent": {"file": "c.tsv", "allow": ["1"]}}),
            "`people.consent.file` must be left out with `cohort.sums`",
        ),
        (
            changed(people={"consent": {"allow": ["1"]}}),
            "must be of the same identity, people.consent.allow as the study",
        ),
        (changed(covariates={"file": "x.tsv"}), "`covariates.file` must be left out with `cohort.sums`"),
        (changed(outcomes={"scales": None}), "`outcomes.scales` must be given with `cohort.sums`, got null"),
        (changed(covariates={"pcs": 2}), "`covariates.pcs` must be 0 with `cohort.sums`"),
        (changed(privacy={"protection": "label"}), "`privacy.protection` must be full with `cohort.sums`"),
        (
            changed() | {"methods": ["k-blup"]},
            "`methods` must be drawn from sums with `cohort.sums`, got k-blup",
        ),
        (
            changed() | {"methods": ["blup-ld"]},
            "`methods` must be drawn from sums with `cohort.sums`, got blup-ld",
        ),
        (changed(evaluation={"metrics": "charged"}), "`evaluation.metrics` must be withheld or public"),
        (changed(privacy={"delta": 1e-7}), "must be of the same privacy.delta as the study, got others"),
        (changed(variants={"size": 8}), "must be of the same variants.size as the study, got others"),
        (
            changed(release={"genome_build": "GRCh37"}),
            "must be of the same release.genome_build as the study",
        ),
        (changed(cohort={"sums": "other.npz"}), "`cohort.sums` must be a file, got other.npz: No such file"),
    ],
)
def test_check__raise_on_what_sums_do_not_carry(raw, said):
    assert any(said in line for line in lines_of(raw))


@pytest.mark.usefixtures("taken")
def test_check__raise_on_sums_that_others_can_read(tmp_path):
    (tmp_path / "sums.npz").chmod(0o644)
    assert any(
        "`cohort.sums` must be readable by you only, got sums.npz" in line for line in lines_of(CONFIG)
    )


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize(
    ("others", "said"),
    [
        (NAMES, ()),
        (
            ("a", "c", "b"),
            (
                "`evaluation.outcomes` must have the outcomes of `cohort.sums` in the same order, got c as "
                "outcome 2 of y.tsv where that has b.",
            ),
        ),
        (
            ("a", "b", "d"),
            ("got d as outcome 3 of y.tsv", "`outcomes.traits`: `traits.tsv`", "got `c` in the study alone"),
        ),
    ],
)
def test_check__compares_the_outcomes_of_public_tables_with_the_sums(others, said):
    Path("y.tsv").write_text("\t".join(("sample", *others)) + "\nx" + "\t0" * len(others) + "\n")
    Path("traits.tsv").write_text(
        "outcome\treported_trait\n" + "".join(f"{name}\tHeight\n" for name in others)
    )
    Path("loadings.tsv").write_text("outcome\torigin\tf\n" + "".join(f"{name}\tx\t.5\n" for name in others))
    tables = {"traits": "traits.tsv", "loadings": "loadings.tsv"}
    lines = every_line(changed(outcomes=tables, evaluation={"metrics": "public", "outcomes": "y.tsv"}))
    found = [line for line in lines if any(name in line for name in ("y.tsv", "traits.tsv", "study alone"))]
    assert len(found) == len(said), lines
    assert all(any(words in line for line in found) for words in said), found


@pytest.mark.usefixtures("taken")
def test_take_sums__takes_statistics_and_names(tmp_path):
    write_text(tmp_path / "sites.tsv", "of the sums\n")
    settings = settings_for("take-sums", **CONFIG)
    with refused("sums-of-other-terms"):
        take_sums(settings, "sums.npz", sites=tmp_path / "sites.tsv", output=tmp_path / "statistics.npz")
    assert not (tmp_path / "statistics.npz").exists()
    terms = terms_of(resolve(CONFIG), site_digest=written_digest(tmp_path / "sites.tsv"))
    whole = sums(terms=terms)
    whole.save("sums.npz")
    take_sums(settings, "sums.npz", sites=tmp_path / "sites.tsv", output=tmp_path / "statistics.npz")
    assert (tmp_path / "statistics.npz").read_bytes() == arrays_as_bytes(whole.statistics.arrays())
    options = {"of_outcomes": True, "output": tmp_path / "outcomes.zarr"}
    take_sums(settings, "sums.npz", sites=tmp_path / "sites.tsv", **options)
    found = Outcomes.load(tmp_path / "outcomes.zarr")
    assert (found.names, found.rows, found.values[D].shape) == (NAMES, "people", (3, 0))


def study_of_centre(folder):
    """Write the files of a study of one centre that `dpgrs centre export` reads, with their notes."""
    study = folder / "results" / "release"
    private, sites = study / "private", study / "public" / "sites.tsv"
    of_centre = {"cohort": {"sums": None, "vcf": "cohort.vcf", "part": True}}
    own = resolve(changed(**of_centre, people={"consent": {"file": "consent.tsv", "allow": ["1"]}}))
    settings = own.changed(outcomes={"file": "table.tsv"})
    part = sums(CENTRES["north"])
    for file in ("consent.tsv", "cohort.vcf", "table.tsv"):
        (folder / file).write_text("a\t1\n")
    (private / "replicate1").mkdir(parents=True)
    write_json(private / "settings.json", settings.as_dict())
    write_text(sites, "sites\n")
    paths = [Path(one) for one in ("consent.tsv", "cohort.vcf", "table.tsv", "scales.tsv")]
    note(sites, {})
    people = private / "people.txt"
    write_text(people, "a\n")
    note(people, settings_along(None, [], output=people))
    for made, name_made in ((part.statistics, "statistics.npz"), (part.outcomes, "outcomes.zarr")):
        output = private / "replicate1" / name_made
        made.save(output)
        marks = content_marks(settings, paths, study=study, genotypes=["cohort.vcf"])
        note(output, settings_along(None, [sites, people], output=output, marks=marks))
    return study


@pytest.mark.parametrize("name", ["scales.tsv", "consent.tsv", "cohort.vcf"])
def test_export__raise_on_files_that_have_changed(folder, name):
    """Under an older time, as `cp -p` and `rsync -a` leave it."""
    study = study_of_centre(folder)
    assert sums_of_study(study, centre="north").centres == ("north",)
    (folder / name).write_text("a\t0\n")
    os.utime(folder / name, (0, 0))
    with refused("input-file-changed", name):
        sums_of_study(study, centre="north")


@pytest.mark.parametrize("name", ["results/release/private/replicate1/statistics.npz", "scales.tsv"])
def test_export__raise_on_files_that_are_replaced_after_notes_were_compared(folder, monkeypatch, name):
    study = study_of_centre(folder)
    path = folder / name

    def compared(settings, files):
        require_made_by(settings, files)
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content)

    monkeypatch.setattr("dpgrs.study.centre_sums.require_made_by", compared)
    with refused("file-written-meanwhile", path.name):
        sums_of_study(study, centre="north")


def test_export__states_the_constants_that_the_study_has_read(folder, monkeypatch):
    """From another working folder, with a table of the same name."""
    study = study_of_centre(folder)
    terms = sums_of_study(study, centre="north").public_terms
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "scales.tsv").write_text(SCALES.replace("\t0\t1\t", "\t2\t3\t"))
    monkeypatch.chdir(folder / "elsewhere")
    assert sums_of_study(study, centre="north").public_terms == terms


def test_export__raise_where_snakemake_keeps_digests(folder, monkeypatch):
    """A centre draws nothing, so no step asks before."""
    study, records = study_of_centre(folder), folder / ".snakemake" / "metadata"
    records.mkdir(parents=True)
    name = "results/release/{}/x.npz"
    (records / "a").write_text(json.dumps({"input_checksums": {name.format("public"): "0"}}))
    assert sums_of_study(study, centre="north").centres == ("north",)
    (records / "b").write_text(json.dumps({"input_checksums": {name.format("private"): "0"}}))
    monkeypatch.chdir(folder / "results")
    with refused("records-with-digests", "metadata"):
        sums_of_study(Path("release"), centre="north")


@pytest.mark.parametrize(
    ("name", "code"),
    [("a b", "centre-name-invalid"), ("north", "study-not-run")],
)
def test_export__raise_on_no_name_or_study(tmp_path, name, code):
    public = str(pyrage.x25519.Identity.generate().to_public())
    with refused(code, error=UsageError):
        export(tmp_path, name=name, public_key=public)
