import json

import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.study.settings import resolve

KEPT = {"private/settings.json", "private/provenance.json", "release/SHA256SUMS", "public/sites.tsv"}
DERIVED = {
    "private/store/1.zarr/.zattrs",
    "private/variants.zarr/.zattrs",
    "private/people.txt",
    "private/replicate1/outcomes.zarr",
    "private/logs/choose_people.log",
    "private/of_a_later_version.npz",
}


@pytest.fixture
def study(tmp_path):
    folder = tmp_path / "results" / "mine"
    for name in KEPT | DERIVED:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    raw = {"mode": "release", "cohort": {"source": "vcf", "vcf": "own.vcf"}, "people": {"remove": "own.txt"}}
    raw |= {"privacy": {"ledger": "ledger.jsonl"}, "public": {"sites": "sites.tsv"}}
    (folder / "private" / "settings.json").write_text(json.dumps(resolve(raw).as_dict()))
    return folder


def closeout(study, *options):
    return CliRunner().invoke(main, ["closeout", str(study), *options])


def files_of(study):
    return {path.relative_to(study).as_posix() for path in study.rglob("*") if path.is_file()}


def test_closeout__lists_and_touches_nothing(study):
    result = closeout(study)
    assert result.exit_code == 0
    listed = {line.removeprefix(f"{study}/") for line in result.stdout.splitlines()}
    assert listed == {"/".join(name.split("/")[:2]) for name in DERIVED}
    assert "Add --remove to remove all of these." in result.stderr
    assert "Your own files stay; whether they may is up to you: own.vcf, own.txt\n" in result.stderr
    assert files_of(study) == KEPT | DERIVED


def test_closeout__removes_what_is_of_single_people(study):
    assert "Removed all of these." in closeout(study, "--remove").stderr
    assert files_of(study) == KEPT
    result = closeout(study, "--remove")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "Nothing derived from single people is left." in result.stderr


def test_closeout__links_are_removed_and_not_followed(study, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "own.vcf").write_text("x")
    (study / "private" / "link").symlink_to(tmp_path / "elsewhere")
    assert closeout(study, "--remove").exit_code == 0
    assert not (study / "private" / "link").is_symlink()
    assert (tmp_path / "elsewhere" / "own.vcf").is_file()


@pytest.mark.parametrize("content", [None, "", '{"mode": "rel', "[]", "\x80", "[" * 100_000], ids=str)
def test_closeout__raise_on_settings_that_are_damaged(study, content):
    settings = study / "private" / "settings.json"
    settings.write_bytes(settings.read_bytes()[:-9] if content is None else content.encode("latin-1"))
    result = closeout(study, "--remove")
    assert result.exit_code == 1
    assert result.stderr == (
        f"dpgrs: `{settings}` must be JSON that dpgrs wrote, but is missing, cut off or damaged. Restore it "
        f"from a copy, or remove the files in {study}/private by hand.\n"
    )
    assert files_of(study) == KEPT | DERIVED


def test_closeout__settings_of_another_kind_name_no_files_of_the_user(study):
    (study / "private" / "settings.json").write_text('{"cohort": 3, "people": {"remove": "own.txt"}}')
    assert "whether they may is up to you: own.txt\n" in closeout(study).stderr


def test_closeout__raise_on_another_folder(tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "letter.txt").write_text("x")
    result = closeout(tmp_path, "--remove")
    assert result.exit_code == 2
    assert "must be the folder of a study, with settings.json and private/, got another." in result.stderr
    assert (tmp_path / "private" / "letter.txt").is_file()
