import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions

import click
import numpy as np
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import EXTRAS, OTHERS, SECTIONS, STEPS, main
from dpgrs.config.schema import keys
from dpgrs.study.settings import resolve
from dpgrs.study.verbs import settings_read, verb_names
from study_runs import REPOSITORY
from vcf_files import record, vcf_text, write_bgzf

# Slow to import: no command should do so before it needs them.
LIBRARIES = {
    *("numpy", "scipy", "pandas", "pyarrow", "zarr", "numba", "pysam", "cyvcf2", "bed_reader", "pgenlib"),
    *("sklearn", "matplotlib", "snakemake", "opendp", "dp_accounting", "allel", "jsonschema", "requests"),
}


def invoke(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_main__every_rule_calls_a_verb_that_exists():
    rules = "".join(path.read_text() for path in (REPOSITORY / "workflow" / "rules").glob("*.smk"))
    called = set(re.findall(r"python -m dpgrs (?:-\S+ )*([a-z][a-z-]*)", rules))
    assert len(called) > 9
    assert called <= set(main.list_commands(None))


@pytest.mark.parametrize("verb", main.list_commands(None))
def test_main__every_verb_explains_itself(verb):
    result = invoke(verb, "--help")
    assert result.exit_code == 0
    command = main.get_command(None, verb)
    assert command.help
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []
    # A help that starts with a pronoun or preposition describes something that its reader does not see.
    fragment = r"(Which|Whether (they|it)|Those|That|Of|By)\b"
    assert [option.name for option in options if re.match(fragment, option.help)] == []
    # A delta is no chance: docs/proofs/odds.md.
    assert [option.name for option in options if "delta" in option.name and "hance" in option.help] == []


def test_main__help_lists_commands_by_section_and_steps_after_them():
    text = invoke("--help").stdout
    headings = re.findall(r"(?m)^(\S.*):$", text)
    assert headings == ["Options", *main.sections()]
    assert [*SECTIONS, STEPS] == [one for one in headings if one not in ("Options", OTHERS)]
    for_people, _, steps = text.partition(f"\n{STEPS}:\n")
    for name in (name for names in SECTIONS.values() for name in names):
        assert re.search(rf"(?m)^  {name}  +[A-Z]", for_people), name
    assert set(re.findall(r"[a-z][a-z-]+", steps)) >= set(verb_names())
    sections = main.sections()
    in_sections = [name for names in sections.values() for name in names]
    assert sorted(in_sections) == main.list_commands(None)
    assert not set(verb_names()) - set(sections[STEPS])


def test_settings__lists_all_keys_or_describes_those_of_a_name():
    lines = invoke("settings").stdout.splitlines()
    assert [line.partition(":")[0] for line in lines if line[0] != " "] == list(keys())
    assert lines[:2] == ["study: demo", "  Name of the study; its results go to `results/<study>/`."]
    described = invoke("settings", "privacy.epsilon").stdout
    assert described.startswith("privacy.epsilon:\n  Privacy loss, or a list of them;")
    assert "Default: `[1, 5]`. Example: `[0.5, 1, 2]`." in described
    headings = re.findall(r"(?m)^(\S+):$", invoke("settings", "variants").stdout)
    assert headings == [key for key in keys() if key.startswith("variants.")]
    assert "With `mode: release` the default is `1`." in invoke("settings", "replicates").stdout


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("privacy.epsilom", "`privacy.epsilom` is not a key. Did you mean `privacy.epsilon`?"),
        ("trials", "`trials` is now `replicates`."),
        ("panel.size", "`panel` is now `variants`."),
        ("privcy.epsilon", "`privcy` is not a key. Did you mean `privacy`?"),
        ("epsilon", "`epsilon` is not a key. Did you mean `privacy.epsilon`?"),
        ("study.x", "`study.x` is not a key. `dpgrs settings` lists all keys."),
    ],
)
def test_settings__refuses_a_name_that_is_none_with_what_was_meant(name, line):
    result = invoke("settings", name)
    assert (result.exit_code, result.stderr) == (2, f"dpgrs: {line}\n")


def test_main__failure_is_one_line_and_exit_1(tmp_path):
    arguments = ["--chromosome", "1", "--output", tmp_path / "1.zarr"]
    (tmp_path / "empty.vcf").touch()
    result = invoke("ingest-chromosome", tmp_path / "empty.vcf", *arguments)
    assert result.exit_code == 1
    assert re.fullmatch(r"dpgrs: `.*empty\.vcf`[^\n]+\n", result.stderr)


@pytest.mark.parametrize(
    "command",
    [
        "ingest-chromosome absent --chromosome 1 --output 1.zarr",
        "ledger show absent",
        "ledger verify absent",
        "plan absent",
        "release verify absent",
        "score absent.vcf --score absent --output scored",
        "centre combine absent --key absent --output sums",
        "tabular --csv absent --method bas",
    ],
)
def test_main__a_path_that_is_not_there_ends_with_2(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    result = invoke(*command.split())
    assert result.exit_code == 2
    assert re.fullmatch(r"dpgrs: [^\n]*absent[^\n]*\n", result.stderr)


def options_of(command):
    commands = getattr(command, "commands", {}).values()
    return [*command.params, *(option for inner in commands for option in options_of(inner))]


def test_main__no_number_may_be_nan_or_infinite():
    ranges = [one.type for one in options_of(main) if isinstance(one.type, click.FloatRange)]
    assert ranges
    for kind in ranges:
        for wrong in ("nan", "inf", "-inf"):
            with pytest.raises(click.BadParameter):
                kind.convert(wrong, None, None)


@pytest.mark.parametrize(
    ("raised", "line"),
    [
        (MemoryError(), "dpgrs: Memory ran out. Ask for fewer variants or outcomes, or run it where"),
        # As numpy words it: the shape would tell how many people there are.
        (MemoryError("Unable to allocate an array with shape (2504, 2504)"), "dpgrs: Memory ran out."),
        (RuntimeError("can't start new thread"), "dpgrs: Memory ran out."),
        (OSError(), "dpgrs: OSError"),
        (OSError(28, "No space left on device"), "dpgrs: [Errno 28] No space left on device"),
        (OSError(36, "File name too long", "a" * 9999), f"dpgrs: `{'a' * 200}...`: File name too long. "),
    ],
)
def test_main__what_has_no_words_of_its_own_is_one_line_too(tmp_path, monkeypatch, raised, line):
    def fail(*_, **__):
        raise raised

    monkeypatch.setattr("dpgrs.steps.collect_tables.collect_tables", fail)
    result = invoke("collect-tables", "a.tsv", "--output", tmp_path / "b.tsv")
    assert result.exit_code == 1
    assert result.stderr.startswith(line)
    assert result.stderr.count("\n") == 1
    assert "2504" not in result.stderr


def test_main__a_library_of_an_extra_is_named_with_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dpgrs.steps.collect_tables", None)
    arguments = ["a.tsv", "--output", tmp_path / "b.tsv"]
    # What no extra installs is a defect, not a matter of the user's.
    assert isinstance(invoke("collect-tables", *arguments).exception, ModuleNotFoundError)

    def fail(*_, **__):
        import sklearn  # noqa: F401

    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setattr("dpgrs.steps.collect_tables.collect_tables", fail)
    result = invoke("collect-tables", *arguments)
    assert result.exit_code == 2
    line = "dpgrs: `dpgrs collect-tables` needs the library sklearn: pip install 'dpgrs[workflow]'\n"
    assert result.stderr == line


def test_extras__are_those_of_the_package():
    """No more and no fewer than pyproject.toml has them installed, by the names that Python imports."""
    extras = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {extra: {re.match(r"[\w-]+", one).group() for one in extras[extra]} for extra in EXTRAS}
    distributions = packages_distributions()
    for extra in ("score", "workflow"):
        assert {distributions[module][0].lower() for module in EXTRAS[extra]} == named[extra] - {"dpgrs"}
    assert set(EXTRAS["gan"]) == named["gan"]


def test_main__traceback_on_request(tmp_path):
    arguments = ["--chromosome", "1", "--output", tmp_path / "1.zarr"]
    result = invoke("-vv", "ingest-chromosome", tmp_path / "absent.vcf", *arguments)
    assert result.exit_code == 2
    assert "Traceback" in result.stderr


def test_draw__a_mechanism_that_is_none_ends_with_2(tmp_path):
    places = ["--output", tmp_path / "drawn.npz", "--events", tmp_path / "drawn.json"]
    result = invoke("draw", tmp_path / "outcomes.zarr", "--mechanism", "adassp", *places)
    assert result.exit_code == 2
    assert "The name of a mechanism must be one of reusecov-statistics, choices" in result.stderr


def test_collect_tables__joins_and_refuses_other_headers(tmp_path):
    first, second, other = (tmp_path / name for name in ("1.tsv", "2.tsv", "3.tsv"))
    first.write_text("a\tb\n1\t2\n")
    second.write_text("a\tb\n3\t4\n")
    other.write_text("a\tc\n3\t4\n")
    assert invoke("collect-tables", first, second, "--output", tmp_path / "all.tsv").exit_code == 0
    assert (tmp_path / "all.tsv").read_text() == "a\tb\n1\t2\n3\t4\n"
    assert invoke("collect-tables", first, other, "--output", tmp_path / "bad.tsv").exit_code == 2
    assert not (tmp_path / "bad.tsv").exists()


def test_fit_weights__wrong_file_is_one_line(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.ones(2))
    other = tmp_path / "other.npz"
    options = ["--seconds", tmp_path / "s", "--output", tmp_path / "w"]
    result = invoke("fit-weights", other, "--statistics", other, *options)
    assert result.exit_code == 1
    assert "another kind of file" in result.stderr


def modules_after(*arguments):
    """Run a command in a process of its own; return the modules that it has imported."""
    program = "import sys; from dpgrs.cli.main import main; main(standalone_mode=False); print(*sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(process.stdout.split())


@pytest.mark.parametrize("verb", [[], ["plan"], ["ingest-chromosome"]])
def test_main__help_imports_no_library(verb):
    modules = modules_after(*verb, "--help")
    assert "click" in modules
    assert modules.isdisjoint(LIBRARIES)


def test_ingest_chromosome__imports_only_what_a_vcf_needs(tmp_path):
    vcf = write_bgzf(tmp_path / "1.vcf.gz", vcf_text(record(4, "0|0 0|1 1|1")))
    settings = settings_read(resolve({}), "ingest-chromosome")
    options = ["--chromosome", "1", "--output", tmp_path / "1.zarr", "--settings", settings]
    modules = modules_after("ingest-chromosome", vcf, *options)
    assert {"numpy", "zarr", "numba", "pysam"} <= modules
    # numba looks for scipy, whether or not a kernel uses it.
    assert modules & LIBRARIES <= {"numpy", "zarr", "numba", "pysam", "scipy"}
