import pytest

from dpgrs.config.schema import keys
from dpgrs.study.settings import examine


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("seed", 10**4000, "`seed` must be a whole number of at least 0 and at most 9223372036854775807"),
        ("seed", "9" * 20_000, "`seed` must be a whole number of at least 0 and at most 9223372036854775807"),
        (
            "replicates",
            10**9,
            "`replicates` must be a whole number of at least 1 and at most 10000, got 1000000000.",
        ),
        (
            "variants.size",
            10**12,
            "`variants.size`, entry 1, must be a whole number of at least 1 and at most 10000000",
        ),
        ("privacy.epsilon", list(range(1, 100_001)), "must be a list of at most 100 entries, got 100000."),
        ("methods", ["ridge"] * 100_000, "`methods` must be a list of at most 100 entries, got 100000."),
        ("outcomes.file", "a\0b", r"`outcomes.file` must be text without a null character, got a\x00b."),
        ("dataset.version", "\ud800", r"`dataset.version` must be text in Unicode, got \ud800."),
        (
            "cohort.vcf",
            f"a/{'x' * 256}",
            "`cohort.vcf` must be a path of at most 4095 characters, 255 bytes a name",
        ),
        (
            "cohort.vcf",
            "s3://b/chr{chrom}.vcf.gz",
            "`cohort.vcf` must be a path on this machine, got s3://b/chr{chrom}.vcf.gz. Download the file",
        ),
        ("privacy.ledger", "a/" * 2500, "`privacy.ledger` must be a path of at most 4095 characters"),
        ("release.title", "[" * 100_000 + "{chrom}", None),
        ("release.title", "long " * 2000, None),
    ],
)
def test_resolve__what_is_too_large_or_no_text_is_one_line(key, value, message):
    section, _, name = key.rpartition(".")
    _, problems = examine({section: {name: value}} if section else {name: value})
    lines = [problem.line for problem in problems]
    assert len(lines) == (message is not None)
    assert message is None or message in lines[0]
    assert all("\n" not in line and len(line) < 400 for line in lines)


def test_schema__every_list_and_every_whole_number_has_an_end():
    for key, part in keys().items():
        kinds = part.get("type", [])
        if "array" in kinds:
            assert "maxItems" in part, key
            part = part["items"]
        if "integer" in part.get("type", []):
            assert "maximum" in part, key
