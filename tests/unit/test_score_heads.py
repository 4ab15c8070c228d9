"""What the head of a scoring file states is in the scores, whatever wrote the file."""

import pytest

from score_targets import HEADER, run, scored
from vcf_files import record, vcf_text

GOOD = f"{HEADER}1\t10\tC\tA\t1\n"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_score__loses_nothing_to_a_byte_order_mark(tmp_path, ending):
    """Excel and Notepad write one: build, harmonised positions, constant and name are read."""
    (tmp_path / "a.vcf").write_text(vcf_text(record(10, "0/0 0/0 0/0"), record(20, "0/0 0/1 1/1")))
    head = "\ufeff#pgs_id=TOY\n#genome_build=GRCh37\n#HmPOS_build=GRCh38\n#constant=1.5\n"
    names = HEADER.replace("\n", "\thm_chr\thm_pos\n")
    text = f"{head}{names}1\t10\tC\tA\t1\t1\t20\n".replace("\n", ending)
    (tmp_path / "y.txt").write_text(text, newline="")
    options = ["--genome-build", "GRCh38"]
    found, _ = scored(tmp_path / "out", tmp_path / "a.vcf", tmp_path / "y.txt", options=options)
    assert found["TOY.sum"].tolist() == [0, 1, 2]
    assert found["TOY.score"].tolist() == [1.5, 2.5, 3.5]


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be"])
def test_score__refuses_utf_16(tmp_path, code):
    (tmp_path / "a.vcf").write_text(vcf_text(record(10, "0/0 0/1 1/1")))
    (tmp_path / "y.txt").write_bytes(f"#genome_build=GRCh37\n{GOOD}".encode(code))
    found = run(tmp_path / "a.vcf", "--score", tmp_path / "y.txt", "--output", tmp_path / "out")
    assert (found.exit_code, "got UTF-16" in found.output) == (1, True)
