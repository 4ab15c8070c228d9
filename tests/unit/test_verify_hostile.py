"""Whatever lies in a folder, `release verify` ends with findings: it neither hangs nor fails nor obeys it."""

import gzip
import json
import os
import random
import re
import shutil
import socket
from pathlib import Path

import numpy as np
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.statement.deployments_registry import to_registry_yaml
from dpgrs.statement.text import plain_language
from dpgrs.verify import bundle, folder_check
from dpgrs.verify.bundle import verify_release
from dpgrs.verify.folder_check import LARGEST_RATIO, unzip
from dpgrs.verify.scoring_check import LONGEST_HEADER
from forged_releases import STATEMENT, edit, edit_statement, seal
from release_data import SITES, make_measured_bundle

SCORE = "scores/height.txt.gz"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return make_measured_bundle(folder, standard_errors=np.ones((3, len(SITES))))


@pytest.fixture
def release(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "release"))


def findings(folder):
    with pytest.raises(DpgrsError) as caught:
        verify_release(folder)
    first, *lines, verdict = str(caught.value).split("\n")
    assert first == f"The release `{folder}` must not be trusted:"
    assert verdict.startswith(f"{len(lines)} finding")
    return [line.removeprefix("  ") for line in lines]


def make_socket(path):
    # A name that a socket can be bound to is short.
    at, here = path.parent, os.open(".", os.O_RDONLY)
    os.chdir(at)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


ODD = {
    "a pipe": os.mkfifo,
    "a socket": make_socket,
    "a link": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", ["more", "scores/more.txt.gz", "registry.yaml", SCORE])
def test_verify_release__refuses_unopened_what_is_no_file(release, kind, name):
    (release / name).unlink(missing_ok=True)
    ODD[kind](release / name)
    assert findings(release) == [f"{name} must be a file of its own, not {kind}"]


def test_verify_release__refuses_a_link_to_the_digests(release):
    (release / "SHA256SUMS").rename(release.parent / "sums")
    (release / "SHA256SUMS").symlink_to(release.parent / "sums")
    assert findings(release) == ["SHA256SUMS must be a file of its own, not a link"]


def test_verify_release__folders(release):
    (release / "scores" / "more" / "deep").mkdir(parents=True)
    (release / "more").symlink_to(release / "scores")
    assert findings(release) == [
        "more must be a file of its own, not a link",
        "scores/more must not be there: a folder in a folder",
    ]


def test_verify_release__an_extra_file_is_one_finding(release):
    (release / "notes.txt").write_text("see /home/someone/notes\n")
    lists = "SHA256SUMS and the statement"
    assert findings(release) == [f"notes.txt must not be there: not listed in {lists}"]
    (release / "notes.txt").unlink()
    (release / "registry.yaml").unlink()
    assert findings(release) == [f"registry.yaml must be there: listed in {lists}"]


def test_verify_release__a_digest_that_is_listed_twice(release):
    sums = release / "SHA256SUMS"
    first = sums.read_text().splitlines(keepends=True)[0]
    sums.write_text(sums.read_text() + first)
    assert findings(release) == ["SHA256SUMS must list each file once"]


def test_verify_release__shows_no_terminal_escapes(release):
    (release / "\x1b[2J\x1b]0;owned\x07 all is well").touch()
    edit(release / SCORE, "^#genome_build=.*", "#genome_build=\x1b[31mGRCh38")
    seal(release)
    shown = findings(release)
    assert all(line.isprintable() for line in shown)
    assert any(r"got \x1b[31mGRCh38" in line for line in shown)


def test_verify_release__shows_the_first_of_many_findings(release, monkeypatch):
    monkeypatch.setattr(bundle, "MOST_LINES", 10)
    for number in range(15):
        (release / f"more{number}").touch()
    with pytest.raises(DpgrsError) as caught:
        verify_release(release)
    lines = str(caught.value).split("\n")
    assert len(lines) == 13
    assert lines[-2] == "  and 5 more"
    assert lines[-1].startswith("15 findings.")


def test_verify_release__too_large(release, monkeypatch):
    size = (release / STATEMENT).stat().st_size
    monkeypatch.setattr(folder_check, "LARGEST_FILE", size - 1)
    assert findings(release)[0].startswith(f"{STATEMENT} must have at most")


def test_verify_release__a_small_file_of_much_text(release):
    text = gzip.decompress((release / SCORE).read_bytes())
    (release / SCORE).write_bytes(gzip.compress(text + b"22\t1\tA\tC\t0\n" * 10**6, mtime=0))
    seal(release)
    assert any(
        f"{LARGEST_RATIO} times its own size" in line and line.startswith(SCORE) for line in findings(release)
    )


def test_verify_release__a_header_of_too_many_lines_is_one_finding(release):
    """Each line of a header may be a finding: of ten million they take gigabytes."""
    text = gzip.decompress((release / SCORE).read_bytes())
    n_lines = sum(line.startswith(b"#") for line in text.split(b"\n"))
    edit(release / SCORE, "^#format_version", "##more\n" * (LONGEST_HEADER - n_lines) + "#format_version")
    seal(release)
    (finding,) = findings(release)
    assert finding.startswith(f"{SCORE}: the header must hold the lines of dpgrs, in their order")
    edit(release / SCORE, "^#format_version", "#more\n#format_version")
    seal(release)
    assert findings(release) == [f"{SCORE}: the header must have at most 100 lines"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (gzip.compress(b"x", mtime=0) + gzip.compress(b"y", mtime=0), "nothing after it"),
        (gzip.compress(b"x", mtime=0) + b"\0", "nothing after it"),
        (gzip.compress(b"x" * 9, mtime=0)[:-1], "whole"),
        (b"", "whole"),
    ],
)
def test_unzip__raise_on_other_than_one_part(data, problem):
    with pytest.raises(ValueError, match=problem):
        list(unzip(data))


def test_unzip__text_of_up_to_the_limit(monkeypatch):
    monkeypatch.setattr(folder_check, "LARGEST_TABLE", 1000)
    assert b"".join(unzip(gzip.compress(b"x" * 999))) == b"x" * 999
    with pytest.raises(ValueError, match="its text must have at most"):
        list(unzip(gzip.compress(b"x" * 1001)))


DIGITS = "9" * 4301
DEEP = "[" * 900 + "]" * 900
# Each level stands for ten of the one before.
BOMB = "a0: &a0 {x: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}\n" for i in range(1, 9)
)
TEXTS = [
    (SCORE, "\t3\t20\t", f"\t3\t{DIGITS}\t", "chr_position is malformed"),
    (SCORE, "^#variants_number=8", f"#variants_number={DIGITS}", "variants_number must be 8"),
    (STATEMENT, '"n_variants": 8', f'"n_variants": {DIGITS}', "must be JSON"),
    (STATEMENT, '"n_variants": 8', '"n_variants": 1e999', "must be JSON"),
    (STATEMENT, '"n_variants": 8', '"n_variants": Infinity', "must be JSON"),
    (STATEMENT, '"n_variants": 8', f'"n_variants": {DEEP}', "must be JSON"),
    (STATEMENT, '"n_variants": 8', f'"n_variants": {DEEP * 100}', "must be JSON"),
    (STATEMENT, '"commit": "0*"', '"commit": "\\\\ud800"', "must be JSON"),
    (STATEMENT, '"citation": "', '"citation": "' + "x" * 10**6, "registry|digest"),
    ("provenance.json", '"dpgrs"', f'"x": {DEEP * 100}, "dpgrs"', "must be JSON"),
    ("registry.yaml", r"\A", BOMB, "was changed"),
    ("privacy_statement.txt", r"\A", "\x00" * 1000, "was changed"),
]


@pytest.mark.parametrize(("name", "old", "new", "problem"), TEXTS, ids=lambda part: repr(part)[:40])
def test_verify_release__numbers_and_nesting_beyond_measure(release, name, old, new, problem):
    edit(release / name, old, new)
    assert re.search(problem, "\n".join(findings(release)))


def test_verify_release__sums_that_would_take_hours(release):
    statement = json.loads((release / STATEMENT).read_text())
    [one, *_] = statement["mechanisms"]
    long = [one | {"sigma": f"1.{number}{'7' * 1900}"} for number in range(11, 99)]
    edit_statement(release, ["mechanisms"], statement["mechanisms"] + long)
    assert any("digits together" in line for line in findings(release))


def test_verify_release__outcomes_of_mixed_types_are_not_compared(release):
    # A validator would compare every two of them.
    edit_statement(release, ["data_domain", "outcomes"], [1, "height", 1])
    shown = [line for line in findings(release) if "data_domain.outcomes" in line]
    assert len(shown) == 2
    assert all("is not of type" in line for line in shown)


NASTY = (
    b"9" * 5000,
    b"-1",
    b"1e999",
    b"null",
    b"{}",
    DEEP.encode(),
    b"\x1b[2J",
    b"\xff",
    b"0." + b"0" * 1990,
)


def changed(data, rng):
    """Damage bytes in one of many ways."""
    lines, place = data.split(b"\n"), rng.randrange(len(data))
    line = rng.randrange(len(lines))
    word = rng.choice(list(re.finditer(rb'"[^"\n]*"|[-\w.]+', data)))
    ways = (
        data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :],
        b"\n".join([*lines[:line], lines[line], *lines[line:]]),
        b"\n".join([*lines[:line], *lines[line + 1 :]]),
        data[:place],
        data[: word.start()] + rng.choice(NASTY) + data[word.end() :],
        data[:place] + rng.choice(NASTY) + data[place:],
    )
    return rng.choice(ways)


@pytest.mark.parametrize("seed", range(6))
def test_verify_release__any_damage_is_a_finding(release, seed):
    rng = random.Random(seed)
    for path in [path for path in sorted(release.rglob("*")) if path.is_file()]:
        name, data = path.name, path.read_bytes()
        text = gzip.decompress(data) if name.endswith(".gz") else data
        damaged = changed(text, rng)
        path.write_bytes(gzip.compress(damaged, mtime=0) if name.endswith(".gz") else damaged)
        assert findings(release)
        path.write_bytes(data)


def forge_words(folder, keys, value):
    """Say something else in a statement and in the texts made from it."""
    edit_statement(folder, keys, value)
    statement = json.loads((folder / STATEMENT).read_text())
    (folder / "privacy_statement.txt").write_text(plain_language(statement))
    (folder / "registry.yaml").write_text(to_registry_yaml(statement))
    seal(folder)


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("guarantee", "definition"),
        ("guarantee", "contribution"),
        ("guarantee", "plain_language"),
        ("composition", "theorem"),
    ],
)
def test_verify_release__finds_what_is_added_to_the_words_of_a_promise(release, section, name):
    statement = json.loads((release / STATEMENT).read_text())
    forge_words(release, [section, name], statement[section][name] + " Or less.")
    (line,) = findings(release)
    assert line.startswith(f"the {name} must be what the terms and draws say, word for word")


def test_verify_release__finds_what_is_added_to_the_assumptions(release):
    first, *others = json.loads((release / STATEMENT).read_text())["assumptions"]
    for forged in ([first + " Or not.", *others], [first, *others, "Nobody looks."]):
        forge_words(release, ["assumptions"], forged)
        (line,) = findings(release)
        assert line.startswith("the assumptions must be what the terms and draws say, word for word")


def test_verify_release__finds_what_is_added_to_what_all_releases_say(release):
    statement = json.loads((release / STATEMENT).read_text())
    for name in ("randomness", "trust_model", "release_type", "subgroups"):
        forge_words(release, [name], statement[name] + " Or not.")
        (line,) = findings(release)
        assert line == f"the {name} must be, word for word, that of every release under full protection"
        edit_statement(release, [name], statement[name])
    *some, _ = statement["not_protected"]
    forge_words(release, ["not_protected"], some)
    (line,) = findings(release)
    assert line.startswith("the not_protected must be, word for word, that of")


@pytest.mark.parametrize(
    ("keys", "change", "line"),
    [
        (["mechanisms", 0, "sigma"], lambda text: text[:-1] + "9", "must have sizes that are floats"),
        (["mechanisms", 0, "mu"], lambda text: text + "0", "must have mu = sensitivity/sigma"),
        (["mechanisms", 0, "share"], lambda text: text[:-1], "must have share = mu^2 over the sum"),
        (["guarantee", "mu"], "{}\n".format, "does not match"),
        (["guarantee", "mu"], "{}0".format, "the guarantee must have mu^2 = the sum"),
        (["guarantee", "person", "right_guesses"], "{}.0".format, "the loss of a person must cover"),
        (["composition", "per_outcome", "chance"], "{}0".format, "composition.per_outcome must cover"),
        (
            ["composition", "per_outcome", "epsilon"],
            "{}.0".format,
            "must be written with the shortest epsilon",
        ),
        (["profile", "pure_epsilon"], "{}.0".format, "profile.pure_epsilon must be the sum"),
        (["profile", "deltas", 0, "delta"], "{}0".format, "profile.deltas must be delta(epsilon)"),
        (["profile", "deltas", 0, "epsilon"], "{}0".format, "profile.deltas must be at an epsilon of 0.2"),
        (["ledger", "spent", "pure_epsilon"], "{}.0".format, "the pure_epsilon of the ledger must have"),
        (["public_inputs"], lambda inputs: inputs[::-1], "must be in the order in which dpgrs writes them"),
        (["public_inputs", 2, "origin"], "{} x".format, "the origin of the outcome bound must be `chosen"),
        (["public_inputs", 1, "origin"], "{} x".format, "the origin of the allele frequencies must be `a"),
        (["public_inputs", 2, "value"], "0{}".format, "the outcome bound must be a number"),
        (
            ["preprocessing"],
            lambda _: ["Nothing."],
            "the preprocessing must be one line of the curator's own",
        ),
    ],
    ids=lambda part: ".".join(map(str, part)) if isinstance(part, list) else "",
)
def test_verify_release__each_number_and_each_line_has_one_form(release, keys, change, line):
    value = json.loads((release / STATEMENT).read_text())
    for key in keys:
        value = value[key]
    edit_statement(release, keys, change(value))
    statement = json.loads((release / STATEMENT).read_text())
    (release / "privacy_statement.txt").write_text(plain_language(statement))
    (release / "registry.yaml").write_text(to_registry_yaml(statement))
    seal(release)
    assert any(line in found for found in findings(release))


def quoted(text):
    return re.sub(r"\A(\w+)", r'"\1"', text)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (STATEMENT, lambda text: json.dumps(json.loads(text))),
        (STATEMENT, lambda text: text.replace('"version": 3,', '"version": 3.0,')),
        (STATEMENT, lambda text: text.replace('"fit": {', '"fit": {"lambda": 9,', 1)),
        ("provenance.json", lambda text: text + "\n"),
        ("registry.yaml", lambda text: text.replace("\n", "\r\n")),
        ("privacy_statement.txt", lambda text: text.replace("\n", "\r\n")),
        ("constants.tsv", lambda text: text.replace("\n", "\r\n")),
        ("constants.tsv", quoted),
        ("accuracy_sums.tsv", quoted),
        ("accuracy_sums.tsv", lambda text: re.sub(r"(\d\.\d+)", r"\g<1>0", text, count=1)),
        (SCORE, lambda text: re.sub(r"(?m)^(##SOURCE.*\n)(.*\n)", r"\2\1", text)),
    ],
)
def test_verify_release__each_text_has_one_form(release, name, change):
    is_gzip, data = name.endswith(".gz"), (release / name).read_bytes()
    text = (gzip.decompress(data) if is_gzip else data).decode()
    changed_text = change(text).encode()
    assert changed_text != text.encode()
    (release / name).write_bytes(gzip.compress(changed_text, mtime=0) if is_gzip else changed_text)
    if name != STATEMENT:
        seal(release)
    assert any(name in found and "digest" not in found for found in findings(release))
