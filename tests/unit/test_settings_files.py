import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from snakemake.cli import parse_config
from snakemake.utils import update_config

from dpgrs.config.study import StudyConfig
from dpgrs.errors import UsageError
from dpgrs.preflight.checks import check
from dpgrs.study.settings import resolve
from dpgrs.study.settings_files import (
    OF_STUDIES,
    deep_merge,
    hand_settings_over,
    read_settings,
    require_plain,
    settings_handed_over,
)
from refused import refused


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_read_settings__lays_changes_over_the_file_over_the_base():
    Path("study.yaml").write_text("privacy: {epsilon: 3, delta: 1e-7}\nreplicates: 4\n")
    changes = ["privacy={epsilon: [1, 2]}", "replicates=5", "cohort={simulation: {people: 70}}"]
    settings = resolve(read_settings("study.yaml", changes=[*changes, "cohort={rows: people}"]))
    assert settings.study == "demo"
    assert settings.privacy.epsilon == (1.0, 2.0)
    assert settings.privacy.delta == 1e-7
    assert settings.replicates == 5
    assert settings.cohort.simulation.people == 70
    assert settings.cohort.rows == "people"


@pytest.mark.parametrize("below", [{}, {"a": 1}, {"a": None}, {"a": {"b": 1, "c": {"d": 2}}}, {"a": [1]}])
@pytest.mark.parametrize("above", [{"a": {}}, {"a": {"c": {"d": 3}}}, {"a": {"b": {"e": 1}}}, {"a": [2]}])
def test_read_settings__lies_settings_over_others_as_snakemake_does(below, above):
    Path("below.json").write_text(json.dumps(below))
    Path("above.json").write_text(json.dumps(above))
    expected = json.loads(json.dumps(below))
    update_config(expected, above)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dpgrs.study.settings_files.BASE", Path("below.json"))
        assert read_settings("above.json") == expected


def test_deep_merge__leaves_what_it_merges_as_it_is():
    below, above = {"a": {"b": 1, "c": {"d": [2]}}}, {"a": {"c": {"d": [3]}}, "e": {}}
    copies = json.loads(json.dumps([below, above]))
    assert deep_merge(below, above) == {"a": {"b": 1, "c": {"d": [3]}}, "e": {}}
    assert [below, above] == copies


def test_read_settings__changes_mean_what_they_mean_on_the_command_line():
    Path("study.yaml").write_text("study: x\ncohort: {rows: people}\n")
    changes = [
        "seed=7",
        "privacy={delta: 1e-7}",
        'cohort={vcf: "a {chrom}.vcf.gz", source: vcf}',
        "variants=",
    ]
    by_snakemake = read_settings("study.yaml")
    update_config(by_snakemake, parse_config(changes))
    assert by_snakemake == read_settings("study.yaml", changes=changes) | {"seed": 7}


def test_hand_settings_over__each_study_has_its_own(monkeypatch):
    monkeypatch.delenv(OF_STUDIES, raising=False)
    assert settings_handed_over("a") is None
    for study in ("a", "b"):
        hand_settings_over(StudyConfig.of({"study": study, "seed": 1}), f"private/{study}")
    # As an import in the same process, and as a run within this one.
    hand_settings_over(StudyConfig.of({"study": "b", "seed": 1}), "private/b")
    with refused("study-imported-twice", "`b`", error=UsageError):
        hand_settings_over(StudyConfig.of({"study": "b", "seed": 2}), "private/b")
    monkeypatch.setattr("os.getpid", lambda: 0)
    hand_settings_over(StudyConfig.of({"study": "b", "seed": 2}), "private/b")
    assert settings_handed_over("a") == {"study": "a", "seed": 1}
    assert settings_handed_over("b") == {"study": "b", "seed": 2}
    assert settings_handed_over("c") is None
    assert [path.stat().st_mode & 0o777 for path in Path("private").glob("*/*.json")] == [0o600] * 3


def test_hand_settings_over__a_job_has_the_settings_of_its_run(monkeypatch):
    monkeypatch.delenv(OF_STUDIES, raising=False)
    checked, other = (StudyConfig.of({"study": "a", "seed": seed}) for seed in (1, 2))
    message = "A job of `a` must have the settings that a run has checked, got others or none"
    with pytest.raises(UsageError, match=message):
        hand_settings_over(checked, "private", is_checked=False)
    hand_settings_over(checked, "private")
    monkeypatch.setattr("os.getpid", lambda: 0)
    with pytest.raises(UsageError, match=message):
        hand_settings_over(other, "private", is_checked=False)
    hand_settings_over(checked, "private", is_checked=False)
    assert settings_handed_over("a") == {"study": "a", "seed": 1}


@pytest.mark.parametrize("content", [None, "", '{"study": "a", "seed": 2}'])
def test_settings_handed_over__raise_on_what_was_not_written(monkeypatch, content):
    monkeypatch.delenv(OF_STUDIES, raising=False)
    hand_settings_over(StudyConfig.of({"study": "a", "seed": 1}), "private")
    (path,) = Path("private").iterdir()
    path.unlink() if content is None else path.write_text(content)
    with refused("file-not-as-written", ".json"):
        settings_handed_over("a")


@pytest.mark.parametrize(
    ("content", "changes", "message"),
    [
        (None, [], "`absent.yaml` must be a configuration in YAML or JSON"),
        ("a: [1\n", [], "`absent.yaml` must be a configuration in YAML or JSON"),
        ("- 1\n", [], "`absent.yaml` must be a configuration in YAML or JSON"),
        ("", [], "`absent.yaml` must be a configuration in YAML or JSON"),
        (
            "study: x\ncohort: {vcf: chr{chrom}.vcf.gz}\n",
            [],
            'Put the pattern in quotes, as in vcf: "chr{chrom}.vcf.gz".',
        ),
        ("study: x\n", ["epsilon"], "`--config` must be KEY=VALUE, got epsilon"),
        ("study: x\n", ["privacy={epsilon: [1}"], "`privacy` must be keys with values"),
        ("study: x\n", ["privacy={epsilom: 1}"], "Did you mean `privacy.epsilon`?"),
    ],
)
def test_read_settings__raise_on_misuse(content, changes, message):
    if content is not None:
        Path("absent.yaml").write_text(content)
    with pytest.raises(UsageError) as caught:
        resolve(read_settings("absent.yaml", changes=changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("study: x\nprivacy:\n  epsilon: [1, 2\n  delta: 1e-6\n", "line 4, column 8: expected ',' or ']'"),
        ("study: x\n\tmode: release\n", "line 2, column 1: found character"),
        ("a: 1\nb: *nothing\n", "line 2, column 4: found undefined alias"),
        ('{"study": "x",\n "a"', "line 2, column 5: expected ',' or '}'"),
        ("a: 1\nstudy: \x01\n", "line 2, column 8: a character that YAML does not allow"),
        ("study: 2026-02-30\n", "it holds a date or number that cannot be: day is out of range for month."),
        ("study: " + "[" * 5000, "its brackets are nested too deeply."),
    ],
)
def test_read_settings__says_where_a_file_is_broken(content, where):
    Path("broken.yaml").write_text(content)
    with refused("settings-unreadable", error=UsageError) as caught:
        read_settings("broken.yaml")
    assert str(caught.value).startswith(f"`broken.yaml` must be a configuration in YAML or JSON: {where}")


def fault_of(path, *, changes=()):
    with pytest.raises(UsageError) as caught:
        resolve(read_settings(path, changes=changes))
    (line,) = str(caught.value).splitlines()
    return line


def test_read_settings__raise_on_a_file_without_an_end():
    assert fault_of("/dev/zero") == (
        "`/dev/zero` must be a configuration of at most 16777216 bytes, got more. Name the right file."
    )


def test_read_settings__of_pipes_that_somebody_or_nobody_writes_to():
    os.mkfifo("pipe")
    assert (
        fault_of("pipe") == "`pipe` must be a configuration, got a pipe that nobody writes to. Name a file."
    )
    # As `<(...)` of a shell, and standard input, are: open, and perhaps not written yet.
    reader, writer = os.pipe()
    with ThreadPoolExecutor() as pool, os.fdopen(reader):
        found = pool.submit(read_settings, f"/dev/fd/{reader}")
        os.write(writer, b"study: ")
        os.write(writer, b"piped\n")
        os.close(writer)
        assert found.result()["study"] == "piped"


def test_read_settings__a_file_is_never_run():
    """Snakemake's own reader would run these."""
    made = "?__import__('pathlib').Path('made').touch()"
    Path("code.yaml").write_text(f"__use_yte__: true\n? {made}\n: 1\nstudy: {made}\n")
    assert "`__use_yte__` is not a key" in _all_faults("code.yaml")
    Path("tag.yaml").write_text("study: !!python/object/apply:os.mkdir [made]\n")
    assert "could not determine a constructor" in fault_of("tag.yaml")
    assert not Path("made").exists()


def test_require_plain__names_the_file_that_was_run():
    Path("plain.yaml").write_text("study: a\n")
    Path("code.yaml").write_text("__use_yte__: false\nstudy: a\n")
    os.mkfifo("pipe.yaml")
    require_plain(["plain.yaml", "absent.yaml", "pipe.yaml"])
    with refused("settings-run-code", "`code.yaml`", "`__use_yte__`", error=UsageError):
        require_plain([Path("plain.yaml"), Path("code.yaml")])


def _all_faults(path):
    with pytest.raises(UsageError) as caught:
        resolve(read_settings(path))
    return str(caught.value)


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
ODD = {
    "bomb": (BOMB.encode(), "it must have keys with values at its top, and not without end"),
    "recursive list": (b"methods: &all [ridge, *all]\n", "and not without end"),
    "recursive section": (b"privacy: &all\n  epsilon: *all\n", "and not without end"),
    "latin-1": ("release: {curator: Universit\xe4t}\n".encode("latin-1"), "its text is not UTF-8"),
    "utf-16": ("study: a\n".encode("utf-16"), "its text is not UTF-8"),
    "key twice": (
        b"study: a\nprivacy: {delta: 1e-6,\n  delta: 1e-7}\n",
        "line 3, column 3: found the key `delta` a",
    ),
    "key twice in JSON": (
        b'{"study": "a",\n "study": "b"}',
        "line 2, column 2: found the key `study` a second time",
    ),
    "octal": (b"dataset: {version: 010}\n", "line 1, column 20: found `010`, which YAML reads as 8: put"),
    "sexagesimal": (b"dataset: {version: 1:30}\n", "found `1:30`, which YAML reads as 90: put text in"),
    "digits": (b"seed: " + b"9" * 20_000, "it holds a date or number that cannot be"),
    "no keys": (b"[]", "it must have keys with values at its top"),
}


@pytest.mark.parametrize(("content", "fault"), ODD.values(), ids=ODD.keys())
def test_read_settings__odd_files_are_one_line(content, fault):
    Path("odd.yaml").write_bytes(content)
    line = fault_of("odd.yaml")
    assert line.startswith("`odd.yaml` must be a configuration in YAML or JSON: ")
    assert fault in line


def test_read_settings__odd_paths_are_one_line():
    assert "Is a directory" in fault_of(".")
    assert "File name too long" in fault_of("x" * 5000)


def test_read_settings__integers_are_as_they_read():
    Path("study.yaml").write_text("seed: 0\nvariants: {size: [1_000, +5]}\ndataset: {version: '010'}\n")
    settings = read_settings("study.yaml")
    assert (settings["seed"], settings["variants"]["size"]) == (0, [1000, 5])
    assert settings["dataset"]["version"] == "010"


def test_read_settings__aliases_are_fine():
    Path("study.yaml").write_text("variants: {size: &sizes [5, 10]}\noutcomes: {count: *sizes}\n")
    settings = read_settings("study.yaml")
    assert settings["variants"]["size"] == settings["outcomes"]["count"] == [5, 10]


def test_read_settings__changes_without_end_are_one_line():
    Path("study.yaml").write_text("study: a\n")
    assert "values without end" in fault_of(
        "study.yaml", changes=["variants={" + BOMB.replace("\n", ", ") + "}"]
    )
    assert "`privacy` must be keys with values" in fault_of(
        "study.yaml", changes=["privacy=" + "{a: " * 3000]
    )


def test_check__settings_without_end_are_one_line():
    """As Snakemake's own reader hands them over."""
    endless = ["ridge"]
    endless.append(endless)
    with refused("settings-without-end", error=UsageError):
        check({"methods": endless})


def test_plan__without_a_home():
    Path("study.yaml").write_text(
        "variants: {size: 4}\noutcomes: {count: 1}\nprivacy: {epsilon: 1, ledger: ~nobody-here/a}\n"
    )
    kept = {name: value for name, value in os.environ.items() if name != "HOME"}
    command = [sys.executable, "-m", "dpgrs", "plan", "study.yaml", "--people", "100"]
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(command, env=kept | {"PYTHONPATH": paths}, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
