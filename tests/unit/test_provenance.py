import hashlib
import json
import re

from dpgrs.config.study import StudyConfig
from dpgrs.study import provenance


def test_provenance__is_json_and_names_versions_and_digests(tmp_path):
    output = tmp_path / "metrics.tsv"
    output.write_text("x")
    assert provenance.stamp(StudyConfig.of({"mode": "release"})) == ""
    values = {"study": "s", "mode": "benchmark", "cohort": {"copies": {"people": None}}}
    settings, reordered = StudyConfig.of(values), StudyConfig.of(dict(reversed(values.items())))
    record = json.loads(json.dumps(provenance.provenance(settings, [output])))
    assert record["outputs"] == {"metrics.tsv": hashlib.sha256(b"x").hexdigest()}
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", record["libraries"]["numpy"])
    assert record["settings_digest"] == provenance.settings_digest(reordered)


def test_stamp__names_copies():
    settings = StudyConfig.of({"mode": "benchmark", "cohort": {"copies": {"people": 500}}})
    assert provenance.stamp(settings) == "benchmark: not private, of copies of people"
