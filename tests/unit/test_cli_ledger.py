import stat

import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.privacy.noise.study_key import VARIABLE
from ledger_requests import DATASET

ACCOUNT = ("--protection=full", "--unit=person", "--neighbours=add-remove")


def invoke(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def init(path, *terms):
    named = (f"--{name}={value}" for name, value in DATASET.items())
    return invoke("ledger", "init", path, *named, *ACCOUNT, *terms)


def test_create_key__says_where_it_is(tmp_path, monkeypatch):
    path = tmp_path / "study.key"
    monkeypatch.setenv(VARIABLE, str(path))
    result = invoke("key", "create")
    assert result.stdout.startswith(f"Made the study key {path}. Keep a copy")
    assert result.stdout.count("\n") == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("terms", "allowed"),
    [
        (["--epsilon=4"], "epsilon 4 at delta 1e-06 for all releases together (mu^2 0.7020)"),
        (["--mu-squared=1/3", "--delta=1e-7"], "at delta 1e-07 for all releases together (mu^2 0.3333)"),
        (
            ["--epsilon=3", "--pure-epsilon=1"],
            "epsilon 3 at delta 1e-06 for all releases together (mu^2 0.2010 and pure epsilon 1)",
        ),
        (["--pure-epsilon=2"], "epsilon 2 at delta 1e-06 for all releases together (pure epsilon 2)"),
    ],
)
def test_init_ledger__says_what_was_made_and_what_it_allows(tmp_path, terms, allowed):
    result = init(tmp_path / "l.jsonl", *terms)
    assert result.stdout.startswith(
        f"Made the ledger {tmp_path / 'l.jsonl'} of phs000001, consent group c1. "
        "The account full/person/add-remove allows epsilon "
    )
    assert allowed in result.stdout
    assert result.stdout.count("\n") == 1


def test_init_ledger__inside_a_repository_ends_with_2(repository):
    result = init(repository / "config" / "l.jsonl", "--epsilon=4")
    assert result.exit_code == 2
    assert "A ledger must lie outside repositories and results" in result.stderr
    assert not (repository / "config" / "l.jsonl").exists()


@pytest.mark.parametrize("verb", ["show", "verify", "repair"])
def test_ledger__a_folder_is_one_line(tmp_path, verb):
    result = invoke("ledger", verb, tmp_path)
    assert result.exit_code == 1
    assert (
        result.stderr == f"dpgrs: The ledger {tmp_path} must be a file, got a folder. Name the file in it.\n"
    )


@pytest.mark.parametrize("verb", ["show", "verify", "repair"])
def test_ledger__a_line_of_brackets_is_damage(tmp_path, verb):
    path = tmp_path / "ledger.jsonl"
    init(path, "--epsilon=4")
    path.write_text("[" * 100_000 + "\n")
    result = invoke("ledger", verb, path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"dpgrs: The ledger {path} ")
    assert "at line 1" in result.stderr


def test_add_account__says_what_it_allows(tmp_path):
    init(tmp_path / "l.jsonl", "--epsilon=4")
    terms = ("--protection=full", "--unit=haplotype", "--neighbours=add-remove", "--epsilon=2")
    result = invoke("ledger", "add-account", tmp_path / "l.jsonl", *terms)
    assert "The account full/haplotype/add-remove allows epsilon 2 at delta 1e-06" in result.stdout
    assert result.stdout.count("\n") == 1
