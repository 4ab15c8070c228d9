"""Verbs are what the signatures and docstrings of steps say, and get the settings that they read alone."""

import json
import pickle
import re

import click
import pytest

from dpgrs.cli.main import main
from dpgrs.cli.verbs import KINDS, command_of
from dpgrs.config.schema import keys
from dpgrs.config.study import StudyConfig
from dpgrs.errors import UsageError
from dpgrs.study.settings import resolve
from dpgrs.study.step_settings import load_settings
from dpgrs.study.verbs import NEEDED, part_of, read_verb, settings_read, verb_names
from refused import refused
from study_runs import REPOSITORY

SETTINGS = resolve({})
VERBS = verb_names()


@pytest.mark.parametrize("verb", VERBS)
def test_read_verb__takes_kinds_that_the_command_line_knows_and_says_what_they_are(verb):
    found = read_verb(verb)
    assert re.fullmatch(r"[A-Z].*\.", found.summary)
    for parameter in found.parameters:
        kind = re.fullmatch(r"(?:list\[)?(\w+)\]?(?: \| None)?", parameter.kind)
        assert kind[1] in KINDS
        assert parameter.help


@pytest.mark.parametrize("verb", VERBS)
def test_read_verb__reads_settings_that_there_are_each_once(verb):
    reads = read_verb(verb).reads
    sections = {key.rpartition(".")[0] for key in keys()}
    assert set(reads) <= keys().keys() | sections
    assert not [(one, other) for one in reads for other in reads if other.startswith(f"{one}.")]
    assert len(set(reads)) == len(reads)


def test_read_verb__of_a_step():
    verb = read_verb("compute-statistics")
    assert [(one.name, one.kind, one.is_argument) for one in verb.parameters] == [
        ("variant_set", "Path", True),
        ("outcomes", "Path", True),
        ("covariates", "Path | None", False),
        ("without_gram", "bool", False),
        ("shard", "int", False),
        ("shards", "int", False),
        ("output", "Path", False),
    ]
    assert [one.default for one in verb.parameters] == [NEEDED, NEEDED, None, False, 1, 1, NEEDED]
    assert verb.parameters[-1].help == "the statistics to write."
    assert "privacy.bounds" in verb.reads


def test_command_of__options_are_those_of_the_signature():
    command = command_of("ingest-chromosome")
    options = {option.name: option for option in command.params}
    assert isinstance(options["genotypes"], click.Argument)
    assert (options["genotypes"].nargs, options["chromosome"].required) == (-1, True)
    assert (options["is_reference"].is_flag, options["people"].required) == (True, False)
    assert options["threads"].default == 2
    assert "progress" not in options  # of --quiet
    assert "settings" not in {option.name for option in command_of("collect-tables").params}


def test_settings_read__change_with_what_a_verb_reads_alone():
    before = settings_read(SETTINGS, "make-loadings")
    assert before == settings_read(resolve({"privacy": {"epsilon": 3}}), "make-loadings")
    assert before != settings_read(resolve({"covariates": {"pcs": 3}}), "make-loadings")


def test_settings__are_what_was_read_and_stay(tmp_path):
    settings = StudyConfig.of(
        part_of(SETTINGS.as_dict(), ("seed", "variants.size", "cohort.simulation", "regression.lambda"))
    )
    assert settings.variants.size == SETTINGS.variants.size
    assert settings.regression.lambda_ == SETTINGS.regression.lambda_
    assert settings.cohort.simulation == SETTINGS.cohort.simulation
    with pytest.raises(
        AttributeError, match=r"`variants\.maf` must be among the settings that the step READS"
    ):
        settings.variants.maf  # noqa: B018
    with pytest.raises(AttributeError, match="cannot assign to field 'seed'"):
        settings.seed = 2


def test_settings__go_to_another_process():
    """Pages of many outcomes are written by several."""
    settings = load_settings(None, "draw")
    assert pickle.loads(pickle.dumps(settings)).as_dict() == settings.as_dict()


@pytest.mark.parametrize("text", ["{}", "{", '{"cohort": {"rows": "people"}}', '{"cohort": 1}'])
def test_load_settings__raise_on_text_that_lacks_a_key(text):
    with refused("not-settings", "`--settings`", "`make-loadings`", error=UsageError):
        load_settings(text, "make-loadings")


def test_load_settings__raise_on_a_configuration_with_faults(tmp_path):
    (tmp_path / "study.yaml").write_text("cohort: {rows: pople}")
    with pytest.raises(UsageError, match=r"`cohort\.rows` must be one of"):
        load_settings(str(tmp_path / "study.yaml"), "make-loadings")


def test_load_settings__of_text_of_a_file_and_by_default(tmp_path):
    text = settings_read(SETTINGS, "make-loadings")
    (tmp_path / "settings.json").write_text(json.dumps(SETTINGS.as_dict()))
    for given in (None, text, str(tmp_path / "settings.json")):
        assert load_settings(given, "make-loadings").cohort.rows == SETTINGS.cohort.rows


@pytest.mark.parametrize("verb", VERBS)
def test_verbs__no_option_repeats_a_key_of_the_schema(verb):
    """Beside files a verb takes which job it is, such as a replicate; all else are settings."""
    names = {one.name for one in read_verb(verb).parameters if "Path" not in one.kind}
    assert names.isdisjoint(key.rpartition(".")[2] for key in keys())


def rules():
    """Return the text of every rule that runs a verb of `steps`."""
    for file in sorted((REPOSITORY / "workflow" / "rules").glob("*.smk")):
        for text in re.split(r"\n *(?=(?:use )?rule )", file.read_text()):
            verb = re.search(r'"python -m dpgrs (?:--quiet )?([\w-]+)', text)
            if verb and verb[1] in VERBS:
                yield pytest.param(verb[1], text, id=verb[1])


@pytest.mark.parametrize(("verb", "text"), list(rules()))
def test_rules__depend_on_the_settings_and_the_code_of_their_verb(verb, text):
    reads = read_verb(verb).reads
    assert set(re.findall(r'(?:settings_of|code_read)\("([\w-]+)"\)', text)) == {verb}
    # What may draw in a release has the version of the mechanisms there.
    assert re.search(rf'(code=|version=.*else )code_read\("{verb}"\)', text)
    assert bool(re.search(rf'settings=.*(settings_of|settings_read)\(.*"{verb}"', text, re.DOTALL)) == bool(
        reads
    )
    assert ("--settings {params.settings:q}" in text) == bool(reads)
    given = set(re.findall(r"--([a-z-]+)", text.partition("shell:")[2])) - {"settings", "quiet"}
    taken = {flag for option in main.get_command(None, verb).params for flag in option.opts}
    assert {f"--{name}" for name in given} <= taken
