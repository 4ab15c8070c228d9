"""Three simulated centres against one: sums leave each encrypted, and their release is that of all people.

Who did not consent is left out: of one cohort and of two centres by tables, of the third by its files.
"""

import json
import shutil

import pysam
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.statement.conditions import CHECKED_FILES
from dpgrs.verify.bundle import verify_release
from release_studies import SHORT_RELEASE, bundle, released_site
from study_runs import run

pytestmark = pytest.mark.release
LEDGER = ("ledger.jsonl", "ledger.jsonl.head")
STATING_CONDITIONS = {"privacy_statement.json", "privacy_statement.txt", "registry.yaml", "SHA256SUMS"}
COHORT, AGREED = SHORT_RELEASE["cohort"], {"allow": ["1"]}
WHOLE = SHORT_RELEASE | {"people": {"consent": AGREED | {"file": "consent.tsv"}}}
PART = WHOLE | {
    "cohort": COHORT | {"part": True},
    "privacy": {"epsilon": 2},
}
SUMS = SHORT_RELEASE | {"cohort": COHORT | {"vcf": None, "sums": "sums.npz"}, "people": {"consent": AGREED}}


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """A release of everybody, with a copy of its ledger as it was before."""

    def prepare(folder):
        write_consent(folder, people_of(folder))
        for name in LEDGER:
            shutil.copy(folder / name, folder / f"{name}.before")

    with released_site(tmp_path_factory.mktemp("one"), WHOLE, people=90, prepare=prepare) as folder:
        yield folder


def people_of(folder):
    """List the people of a cohort."""
    with pysam.VariantFile(str(folder / "cohort" / "21.vcf.gz")) as file:
        return list(file.header.samples)


def consents(sample):
    """Tell whether a person did: one in nine did not."""
    return int(sample.strip("abcdefghijklmnopqrstuvwxyz_")) % 9 > 0


def write_consent(folder, people):
    codes = "".join(f"{sample}\t{1 if consents(sample) else 2}\n" for sample in people)
    (folder / "consent.tsv").write_text(f"sample\tconsent\n{codes}")


def take_people(source, target, samples):
    """Write a VCF of some people."""
    target.parent.mkdir(parents=True)
    with pysam.VariantFile(str(source)) as file:
        file.subset_samples(samples)
        with pysam.VariantFile(str(target), "wz", header=file.header) as written:
            for record in file:
                written.write(record)


def dpgrs(*arguments):
    """Run a command; return what it says."""
    done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


def without_conditions(statement):
    """Leave out the conditions of a statement, the files that they are about, and digests of files."""
    inputs = [one for one in statement["public_inputs"] if one["name"] != CHECKED_FILES]
    return statement | {"conditions": [], "files": [], "public_inputs": inputs}


def test_centres__release_what_one_cohort_of_all_people_does(one, tmp_path, monkeypatch):
    people = people_of(one)
    key, exports = tmp_path / "secret" / "coordinator.key", []
    public = dpgrs("centre", "key", key).split()[2].rstrip(".")
    # Sizes differ, and a later centre comes first.
    consented = [sample for sample in people[70:] if consents(sample)]
    assert 0 < len(consented) < 20
    for name, chosen in {"c": consented, "a": people[:20], "b": people[20:70]}.items():
        folder = tmp_path / name
        take_people(one / "cohort" / "21.vcf.gz", folder / "cohort" / "21.vcf.gz", chosen)
        write_consent(folder, chosen)
        (folder / "reference").symlink_to(one / "reference")
        said = run(folder, PART).stdout
        assert "dpgrs centre export results/release" in said
        assert not (folder / "results/release/private/replicate1/drawn").exists()
        monkeypatch.chdir(folder)
        dpgrs("centre", "export", "results/release", "--name", name, "--to", public)
        exports.append(folder / "results/release/private" / f"{name}.age")
        assert exports[-1].stat().st_mode & 0o777 == 0o600

    coordinator = tmp_path / "coordinator"
    coordinator.mkdir()
    (coordinator / "reference").symlink_to(one / "reference")
    for name in LEDGER:
        shutil.copy(one / f"{name}.before", coordinator / name)
    dpgrs("centre", "combine", *exports, "--key", key, "--output", coordinator / "sums.npz")
    assert "Charged: epsilon 2; in all epsilon 2 of 4 is spent" in run(coordinator, SUMS).stdout
    ours, theirs = (bundle(folder, "release") for folder in (coordinator, one))
    assert ours.keys() == theirs.keys()
    # Sums of centres meet other conditions than files of one cohort, and a statement says which.
    assert {name for name in ours if ours[name] != theirs[name]} <= STATING_CONDITIONS
    statement, other = (json.loads(files["privacy_statement.json"]) for files in (ours, theirs))
    assert without_conditions(statement) == without_conditions(other)
    assert ("choice of people", "consent codes 1") in [
        (found["name"], found["value"]) for found in statement["public_inputs"]
    ]
    for name in LEDGER:
        assert (coordinator / name).read_bytes() == (one / name).read_bytes()
    exact = "results/release/private/replicate1/statistics.npz"
    assert (coordinator / exact).read_bytes() == (one / exact).read_bytes()
    verify_release(coordinator / "results/release/release")

    # The note of what is taken of the sums has every table that settings name, so their changes are seen.
    described = SUMS | {"outcomes": SUMS["outcomes"] | {"traits": "traits.tsv"}}
    for trait in ("height", "weight"):
        (coordinator / "traits.tsv").write_text(f"outcome\treported_trait\nsimulated_0001\t{trait}\n")
        assert "Replayed: nothing was charged;" in run(coordinator, described).stdout
        assert trait in bundle(coordinator, "release")["privacy_statement.json"].decode()
