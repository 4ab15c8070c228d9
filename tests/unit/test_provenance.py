import hashlib
import json
import re

import pytest

from dpgrs import provenance


@pytest.fixture
def package(tmp_path, monkeypatch):
    for name in (*provenance.COMMON, "io/vcf.py", "cli.py"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(name)
    monkeypatch.setattr(provenance, "PACKAGE", tmp_path)
    return tmp_path


def test_code_digest__changes_with_its_parts_alone(package):
    before = provenance.code_digest("io")
    (package / "cli.py").write_text("changed")
    (package / "io" / "__pycache__").mkdir()
    (package / "io" / "__pycache__" / "vcf.pyc").write_text("compiled")
    assert provenance.code_digest("io") == before
    (package / "io" / "vcf.py").write_text("changed")
    assert provenance.code_digest("io") != before


def test_code_digest__a_missing_part_is_an_error():
    with pytest.raises(FileNotFoundError):
        provenance.code_digest("no_such_module.py")


def test_provenance__is_json_and_names_versions_and_digests(tmp_path):
    output = tmp_path / "metrics.tsv"
    output.write_text("x")
    assert provenance.stamp({"mode": "release"}) == ""
    record = json.loads(json.dumps(provenance.provenance({"study": "s", "mode": "benchmark"}, [output])))
    assert record["outputs"] == {"metrics.tsv": hashlib.sha256(b"x").hexdigest()}
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", record["libraries"]["numpy"])
    assert record["settings_digest"] == provenance.settings_digest({"mode": "benchmark", "study": "s"})
