import copy
import json
import os.path
import re

import pytest
import yaml
from jsonschema import Draft202012Validator

from dpgrs.config.reading import coerce
from dpgrs.config.schema import keys, load_schema
from dpgrs.config.setting import as_json
from dpgrs.config.study import PATHS, StudyConfig
from dpgrs.errors import UsageError
from dpgrs.study.settings import examine, resolve
from dpgrs.study.settings_files import read_settings
from refused import refused


def settings(key, value):
    """Nest a value under a dotted key."""
    for name in reversed(key.split(".")):
        value = {name: value}
    return value


def pick(config, key):
    return as_json(config.value(key))


def sections(schema, path=""):
    """Yield every part of the schema that describes a key or a section, with its path."""
    for name, part in schema["properties"].items():
        yield f"{path}{name}", part
        if "properties" in part:
            yield from sections(part, f"{path}{name}.")


def test_schema__valid_closed_and_complete():
    schema = load_schema()
    Draft202012Validator.check_schema(schema)
    for path, part in [("", schema), *sections(schema)]:
        assert part["description"], path
        if "properties" in part:
            assert part["additionalProperties"] is False, path
        else:
            assert part["examples"], path
        if path:
            assert "default" in part, path


@pytest.mark.parametrize("key", keys())
def test_schema__default_and_example_pass_their_own_check(key):
    part = keys()[key]
    for value in (part["default"], *part["examples"]):
        assert pick(resolve(settings(key, value)), key) == (coerce(value, part) or pick(resolve({}), key))


def test_resolve__no_text_is_taken_from_a_number_that_yaml_shortens():
    """Versions 1.10 and 1.1 of a data set would share a label."""
    with pytest.raises(
        UsageError, match=r"`dataset\.version` must be null or text, in quotes where .* got 1\.1"
    ):
        resolve(yaml.safe_load("dataset: {version: 1.10}"))
    for text, label in (('"1.10"', "1.10"), ("3", "3"), ("2026-11-01", "2026-11-01")):
        found = resolve(yaml.safe_load(f"dataset: {{version: {text}}}"))
        assert found.dataset.version == label


def test_schema__models_are_in_the_catalogue():
    stdpopsim = pytest.importorskip("stdpopsim")
    present = {
        model.id
        for model in stdpopsim.get_species("HomSap").demographic_models
        if any(population.default_sampling_time == 0 for population in model.populations)
    }
    assert set(keys()["cohort.simulation.model"]["enum"]) <= present


def test_resolve__defaults_pass_the_schema():
    config = resolve({})
    Draft202012Validator(load_schema()).validate(config.as_dict())
    assert config.study == "demo"
    assert config.cohort.chromosomes == ("21", "22")
    assert config.variants.size == (100,)


@pytest.mark.parametrize("name", ["config.yaml", "1000genomes.yaml", "1000genomes_30x.yaml"])
def test_resolve__shipped_configurations(repository, name):
    raw = yaml.safe_load((repository / "config" / name).read_text())
    assert resolve(raw).study == raw["study"]


def test_config_yaml__holds_the_name_alone(repository):
    # Snakemake lays this file under every --configfile: any other key would become a second default.
    assert yaml.safe_load((repository / "config" / "config.yaml").read_text()) == {"study": "demo"}


def test_config_yaml__shows_the_defaults_behind_its_marks(repository):
    text = (repository / "config" / "config.yaml").read_text()
    shown = yaml.safe_load(re.sub(r"(?m)^# ( *\w+:)", r"\1", text))
    assert resolve(shown) == resolve({})
    assert {"cohort", "outcomes", "privacy", "release"} < shown.keys()


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("study", 2024, "2024"),
        ("seed", "12", 12),
        ("seed", "1e3", 1000),
        ("seed", 7.0, 7),
        ("cohort.chromosomes", 22, ["22"]),
        ("cohort.chromosomes", [1, "X"], ["1", "X"]),
        ("cohort.vcf", "null", None),
        ("cohort.vcf", "", None),
        ("cohort.keep_filtered", "true", True),
        ("cohort.keep_filtered", "no", False),
        ("cohort.simulation.length", "2e6", 2_000_000),
        ("variants.size", "50", [50]),
        ("variants.size", ["50", "60"], [50, 60]),
        ("variants.maf", ".05", 0.05),
        ("outcomes.bound", 4, 4.0),
        ("privacy.delta", "1e-6", 1e-6),
        ("privacy.epsilon", ["0.5", "1e-3", 2], [0.5, 0.001, 2.0]),
        ("privacy.unit", "null", "haplotype"),
        ("privacy.budget", "~", None),
        ("methods", "ols", ["ols"]),
        ("regression.lambda", "-0.0", 0.0),
        ("release.publication_date", "2026-02-30", "2026-02-30"),
    ],
)
def test_resolve__reads_values_by_the_type_asked_for(key, value, read):
    got = pick(resolve(settings(key, value)), key)
    assert got == read
    assert type(got) is type(read)


@pytest.mark.parametrize("raw", [{}, {"cohort": None}, {"cohort": {}}, {"cohort": "null"}])
def test_resolve__empty_section_has_its_defaults(raw):
    assert resolve(raw) == resolve({})


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"cohort": {"rows": "people"}, "privacy": {"delta": "1e-7"}},
        {"outcomes": {"source": "file", "file": "a.tsv"}},
        {"outcomes": {"source": "file", "file": "a.tsv", "count": "3"}},
    ],
)
def test_resolve__again_changes_nothing(raw):
    before = copy.deepcopy(raw)
    config = resolve(raw)
    assert raw == before
    assert resolve(config.as_dict()) == config
    assert resolve(json.loads(json.dumps(config.as_dict()))) == config


def test_resolve__unit_follows_rows():
    assert resolve({"cohort": {"rows": "people"}}).privacy.unit == "person"
    assert resolve({"cohort": {"rows": "haplotypes"}}).privacy.unit == "haplotype"
    assert resolve({"privacy": {"unit": "person"}}).privacy.unit == "person"


def test_resolve__genome_build_follows_source():
    for mode in ("benchmark", "release"):
        assert resolve({"mode": mode}).release.genome_build == "GRCh38"
        assert resolve({"mode": mode, "cohort": {"source": "vcf"}}).release.genome_build is None
    stated = {"cohort": {"source": "vcf"}, "release": {"genome_build": "GRCh37"}}
    assert resolve(stated).release.genome_build == "GRCh37"


def test_paths__are_all_keys_that_name_files():
    # Every key that names a file says so in its description.
    named = {key for key, part in keys().items() if re.match("Paths? of|Table of", part["description"])}
    assert set(PATHS) == named


@pytest.mark.parametrize("key", PATHS)
def test_resolve__home_in_a_path(key, monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    for written, read in [
        ("~/d/{chrom}.gz", "/home/somebody/d/{chrom}.gz"),
        ("d/~/a", "d/~/a"),
        ("d//a/", "d//a/"),
        ("~nobody.of-this-name/a", "~nobody.of-this-name/a"),
    ]:
        wanted = [read] if keys()[key]["type"] == "array" else read
        assert pick(resolve(settings(key, written)), key) == wanted


def test_read_settings__home_in_a_path(tmp_path):
    (tmp_path / "study.yaml").write_text("privacy: {ledger: ~/ledgers/a.jsonl}\n")
    home = os.path.expanduser("~")  # noqa: PTH111 - as the shell does it
    assert resolve(read_settings(tmp_path / "study.yaml")).privacy.ledger == f"{home}/ledgers/a.jsonl"
    changed = resolve(read_settings(tmp_path / "study.yaml", changes=["privacy={ledger: ~/b.jsonl}"]))
    assert changed.privacy.ledger == f"{home}/b.jsonl"


def test_resolve__count_follows_source():
    assert resolve({}).outcomes.count == (1, 10)
    assert resolve({"outcomes": {"source": "file"}}).outcomes.count is None
    assert resolve({"outcomes": {"source": "file", "count": 2}}).outcomes.count == (2,)


SEED = "`seed` must be a whole number of at least 0 and at most 9223372036854775807"
REPLICATES = "`replicates` must be a whole number of at least 1 and at most 10000, got"
SIZE = "must be a whole number of at least 1 and at most 10000000"
BELOW_1 = "must be a finite number of at least 1e-30 and below 1, got"
EPSILON = "must be a finite number of at least 0.0001 and at most 10000"


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("study", "a b", "`study` must be a name of at most 100 letters, digits, `_` and `-`, got a b."),
        ("study", "../up", "got ../up."),
        ("study", True, "got true."),
        ("seed", -1, f"{SEED}, got -1."),
        ("seed", "1.5", f"{SEED}, got 1.5."),
        ("seed", 10**4000, SEED),
        ("seed", "9" * 20_000, SEED),
        ("study", "a\nb", "got a b."),
        ("study", "", 'got "".'),
        ("privacy.delta", 10**400, f"`privacy.delta` {BELOW_1} 1000"),
        ("mode", "fast", "`mode` must be one of benchmark, release, got fast."),
        ("replicates", 0, f"{REPLICATES} 0. For"),
        ("replicates", 10**9, f"{REPLICATES} 1000000000."),
        ("replicates", [1, 2], f"{REPLICATES} [1, 2]."),
        ("replicates", None, "got null."),
        ("replicates", True, "got true."),
        ("cohort.chromosomes", [], "`cohort.chromosomes` must be a list with at least one entry, got []."),
        ("cohort.chromosomes", [1, "1"], "`cohort.chromosomes` must be a list without repeated entries"),
        ("cohort.chromosomes", ["1", "a/b"], "`cohort.chromosomes`, entry 2, must be a name"),
        ("cohort.keep_filtered", "maybe", "`cohort.keep_filtered` must be true or false, got maybe."),
        ("variants.maf", 0.5, "`variants.maf` must be a finite number of at least 0 and below 0.5, got 0.5."),
        ("variants.size", [10, 0], f"`variants.size`, entry 2, {SIZE}, got 0."),
        ("variants.size", 10**12, f"`variants.size`, entry 1, {SIZE}"),
        ("outcomes.test_share", 1, "must be a finite number of at least 0 and at most 0.999, got 1.0."),
        ("outcomes.heritability", "nan", "must be a finite number of at least 0 and at most 1, got NaN."),
        (
            "outcomes.bound",
            ".inf",
            "must be a finite number of at least 1e-06 and at most 1000, got Infinity.",
        ),
        ("privacy.epsilon", 0, f"{EPSILON}, got 0.0."),
        ("privacy.epsilon", "high", f"`privacy.epsilon`, entry 1, {EPSILON}"),
        ("privacy.epsilon", [1, 1.0], "`privacy.epsilon` must be a list without repeated entries"),
        ("privacy.epsilon", list(range(1, 100_001)), "must be a list of at most 100 entries, got 100000."),
        ("privacy.delta", "1", f"`privacy.delta` {BELOW_1} 1.0."),
        ("privacy.delta", 0, "got 0.0."),
        ("privacy.budget", -1, "`privacy.budget` must be null or a finite number above 0, got -1.0."),
        ("privacy.unit", "man", "`privacy.unit` must be one of haplotype, person, null, got man."),
        ("methods", ["elastic-net"], "`methods`, entry 1, must be one of ols, ridge, gblup, "),
        ("methods", ["ridge"] * 100_000, "`methods` must be a list of at most 100 entries, got 100000."),
        ("outcomes.file", "a\0b", r"`outcomes.file` must be text without a null character, got a\x00b."),
        ("dataset.version", "\ud800", r"`dataset.version` must be text in Unicode, got \ud800."),
        ("cohort.vcf", f"a/{'x' * 256}", "must be a path of at most 4095 characters, 255 bytes a name"),
        ("cohort.vcf", "s3://b/c.gz", "must be a path on this machine, got s3://b/c.gz. Download the file"),
        ("privacy.ledger", "a/" * 2500, "`privacy.ledger` must be a path of at most 4095 characters"),
    ],
)
def test_resolve__raise_on_bad_value(key, value, message):
    with pytest.raises(UsageError) as caught:
        resolve(settings(key, value))
    line = str(caught.value)
    assert message in line
    assert "\n" not in line
    assert len(line) < 400


@pytest.mark.parametrize("title", ["[" * 100_000 + "{chrom}", "long " * 2000])
def test_resolve__takes_long_text(title):
    assert examine(settings("release.title", title))[1] == []


def test_schema__every_list_and_every_whole_number_has_an_end():
    for key, part in keys().items():
        kinds = part.get("type", [])
        if "array" in kinds:
            assert "maxItems" in part, key
            part = part["items"]
        if "integer" in part.get("type", []):
            assert "maximum" in part, key


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("trials", "`trials` is now `replicates`."),
        ("panel.size", "`panel` is now `variants`."),
        ("stdy", "`stdy` is not a key. Did you mean `study`?"),
        ("cohort.chromsomes", "`cohort.chromsomes` is not a key. Did you mean `cohort.chromosomes`?"),
        ("cohort.simulation.peoples", "Did you mean `cohort.simulation.people`?"),
        ("privcy", "Did you mean `privacy`?"),
        ("epsilon", "`epsilon` is not a key. Did you mean `privacy.epsilon`?"),
        ("variants.zzz", "`variants.zzz` is not a key. Keys here are size, maf, missing, hwe, "),
        ("cohort.seed", "`cohort.seed` is not a key. Did you mean `seed`?"),
        ("cohort.vcf:x", "Put a space after the colon: `vcf: x`."),
    ],
)
def test_resolve__raise_on_unknown_key(key, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        resolve(settings(key, 1))


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("privacy.delta", "`privacy: {delta: 1e-07}`, or `--config 'privacy={delta: 1e-07}'`."),
        ("cohort.simulation.people", "`cohort: {simulation: {people: 500}}`, or `--config 'cohort="),
    ],
)
def test_resolve__dotted_keys_are_told_how_to_be_written(key, written):
    with pytest.raises(UsageError, match=re.escape(f"`{key}` is not a key. Write {written}")):
        resolve({key: "3"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{vcf: d/chr{chrom}.vcf.gz, chromosomes: [1, 2]}",
            """in double quotes: --config 'cohort={vcf: "d/chr{chrom}.vcf.gz", chromosomes: [1, 2]}'.""",
        ),
        ("{source: vcf, vcf: {chrom}.vcf}", """--config 'cohort={source: vcf, vcf: "{chrom}.vcf"}'."""),
        (
            "{vcf: d/{chrom}.vcf, chromosomes: [1",
            """--config 'cohort={vcf: "d/chr{chrom}.vcf.gz", chromosomes:""",
        ),
        ("{chromosomes: [1, 2}", "YAML cannot read its braces"),
        ("vcf", "For example `cohort: {...}`"),
        (["vcf"], '`cohort` must be keys with values, got ["vcf"].'),
    ],
)
def test_resolve__raise_on_text_in_place_of_a_section(text, message):
    with pytest.raises(UsageError) as caught:
        resolve({"cohort": text})
    assert message in str(caught.value)


def test_resolve__raise_on_all_problems_at_once():
    raw = {
        "study": "a b",
        "trails": 3,
        "cohort": {"source": "vfc", "simulation": {"people": 1}},
        "privacy": {"epsilon": [1, -1, "x"], "delta": 2},
        "outcomes": "{count: 1",
    }
    with pytest.raises(UsageError) as caught:
        resolve(raw)
    lines = str(caught.value).splitlines()
    assert [re.match("`([^`]+)`", line)[1] for line in lines] == [
        "trails",
        "study",
        "cohort.source",
        "cohort.simulation.people",
        "outcomes",
        "privacy.epsilon",
        "privacy.epsilon",
        "privacy.delta",
    ]


def test_resolve__a_release_has_defaults_of_its_own():
    config = resolve({"mode": "release", "privacy": {"epsilon": 2}})
    assert config.methods == ("blup",)
    assert config.replicates == 1
    assert config.privacy.bounds == "tight"
    assert config.privacy.accounting == ("gdp",)
    assert config.privacy.epsilon == (2.0,)
    assert config.outcomes.test_share == 0
    assert resolve(config.as_dict()) == config
    stated = resolve({"mode": "release", "replicates": 3, "outcomes": {"test_share": "0.3"}})
    assert (stated.replicates, stated.outcomes.test_share) == (3, 0.3)


def test_examine__names_the_keys_in_doubt():
    config, problems = examine({"cohort": {"chromsomes": [1]}, "privacy": {"delta": 2}})
    assert [problem.key for problem in problems] == ["cohort.chromosomes", "privacy.delta"]
    assert config == resolve({})


def test_manual__shows_every_key_with_its_domain_default_example_and_description(repository):
    shown = (repository / "docs" / "reference" / "settings.md").read_text()
    form = r"(?m)^### `([\w.]+)`\n\n(.+)\n\n(.+)\. Default: `(.+?)`\. Example: `(.+?)`\.( With .+)?$"
    rows = re.findall(form, shown)
    assert sorted(key for key, *_ in rows) == sorted(keys())
    for key, text, values, default, example, implied in rows:
        for stated, value in re.findall(r" With (.+?) the default is `(.+?)`\.", implied):
            for setting in re.findall("`(.+?)`", stated):
                assert pick(resolve(settings(*setting.split(": "))), key) == yaml.safe_load(value), key
        part = keys()[key]
        assert coerce(yaml.safe_load(default), part) == coerce(part["default"], part), key
        assert coerce(yaml.safe_load(example), part) == coerce(part["examples"][0], part), key
        assert all(choice in values for choice in (part.get("items") or part).get("enum", []) if choice), key
        assert re.fullmatch(r"[A-Z0-9`].+\.", text), key
    for section in {key.rpartition(".")[0] for key in keys()} - {""}:
        assert re.search(rf"(?m)^##+ `{section}`\n\n[A-Z].+\.$", shown), section


def test_manual__examples_are_settings(repository):
    examples = re.findall(r"(?ms)^```yaml\n(.*?)^```", (repository / "config" / "README.md").read_text())
    assert len(examples) == 3
    for example in examples:
        _, problems = examine(yaml.safe_load(example))
        assert problems == []


def test_manual__a_delta_is_not_the_chance_that_odds_move():
    assert "not the chance" in keys()["privacy.delta"]["description"]


def test_study_config__raise_on_a_file_of_another_version():
    """A file that a step of an earlier version wrote is no traceback."""
    with refused("settings-of-another-version", "cohort.site"):
        StudyConfig.of({"trials": 2, "cohort": {"source": "simulate"}, "cohort.site": 1})
    with refused("settings-of-another-version", "cohort.site"):
        StudyConfig.of({"cohort": {"site": "a"}})
