"""A bundle that was changed after it was sealed is not scored."""

import gzip

import pytest

import dpgrs
from dpgrs.errors import DpgrsError
from dpgrs.scoring.score_files import list_scores
from forged_releases import seal
from refused import refused
from release_data import make_bundle
from score_targets import run
from vcf_files import record, vcf_text


@pytest.fixture
def bundle(tmp_path):
    return make_bundle(tmp_path)


def scoring_file(bundle):
    return sorted((bundle / "scores").glob("*.txt.gz"))[0]


def change_a_digit(path):
    """Write the last digit of a scoring file's last weight anew, as `release verify` refuses."""
    text = gzip.decompress(path.read_bytes()).decode()
    place = max(place for place, letter in enumerate(text) if letter.isdigit())
    text = text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


@pytest.mark.parametrize("named", ["bundle", "folder", "file"])
def test_score__refuses_a_bundle_of_which_a_digit_was_changed(tmp_path, bundle, named):
    path = scoring_file(bundle)
    (tmp_path / "a.vcf").write_text(vcf_text(record(10, "0/0 0/1 1/1")))
    score = {"bundle": bundle, "folder": bundle / "scores", "file": path}[named]
    assert list_scores([score])
    change_a_digit(path)
    found = run(tmp_path / "a.vcf", "--score", score, "--output", tmp_path / "out")
    assert (found.exit_code, found.output.count("\n")) == (1, 1)
    assert "must have the digest that SHA256SUMS lists, got another" in found.output
    assert f"dpgrs release verify {bundle}" in found.output
    assert not (tmp_path / "out").exists()
    with refused("bundle-file-changed"):
        dpgrs.apply_scores([tmp_path / "a.vcf"], [score])


def test_list_scores__holds_both_lists_of_digests_against_each_file(bundle):
    path, sums = scoring_file(bundle), (bundle / "SHA256SUMS").read_text()
    change_a_digit(path)
    seal(bundle)
    assert list_scores([bundle])
    (bundle / "SHA256SUMS").write_text(sums)
    with refused("bundle-file-changed", "statement.json"):
        list_scores([bundle])


def test_list_scores__refuses_a_changed_file_that_only_one_list_names_anew(bundle):
    path, before = scoring_file(bundle), (bundle / "SHA256SUMS").read_text()
    name, statement = path.relative_to(bundle).as_posix(), (bundle / "privacy_statement.json").read_text()
    change_a_digit(path)
    seal(bundle)
    after = (bundle / "SHA256SUMS").read_text().splitlines()
    (bundle / "privacy_statement.json").write_text(statement)
    own = next(line for line in after if line.endswith(name))
    lines = [own if line.endswith(name) else line for line in before.splitlines()]
    (bundle / "SHA256SUMS").write_text("\n".join(lines) + "\n")
    with refused("bundle-file-changed", name):
        list_scores([bundle])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda bundle: (bundle / "outcome_scales.tsv").write_text("outcome\tcentre\tscale\na\t1\t2\n"),
            "another",
        ),
        (lambda bundle: (bundle / "registry.yaml").unlink(), "got no file"),
        (lambda bundle: (bundle / "SHA256SUMS").unlink(), "must list the digests of a bundle's files"),
    ],
)
def test_list_scores__refuses_a_bundle_with_a_file_more_or_less(bundle, change, message):
    change(bundle)
    with pytest.raises(DpgrsError, match=message):
        list_scores([bundle])
