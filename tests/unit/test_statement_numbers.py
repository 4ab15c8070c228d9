"""Each number of a statement that is changed is found, but for those that nobody can check offline."""

import json
import re
import shutil
from decimal import Decimal

import pytest

from case_studies import settings_of, with_cases
from dpgrs.errors import DpgrsError
from dpgrs.release.open_release import refits
from dpgrs.statement.deployments_registry import to_registry_yaml
from dpgrs.statement.text import plain_language
from dpgrs.verify.bundle import verify_release
from forged_releases import STATEMENT, seal
from step_studies import Study

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
# What nothing else in this bundle follows from.
FREE = {
    ("fit", "lambda"),  # `blup` does not read it
    ("dataset", "dataset_version"),  # a label of the curator, which may be any text
    ("public_inputs", "seed", "value"),  # the split and the thinning by it take the people, and the reference
}


def leaves(value, path=()):
    """Yield the path and value of every leaf that is a number, or text that is one."""
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(one, (*path, key))
    elif not isinstance(value, bool) and NUMBER.fullmatch(str(value)):
        yield path, value


def others(value):
    """Return other values: double and half; of 0 these factors themselves."""
    found = [Decimal(str(value)) * factor or factor for factor in (2, Decimal("0.5"))]
    if isinstance(value, str):
        return [f"{number:f}" for number in found]
    return [type(value)(number) for number in found if type(value)(number) != value]


def named(statement, path):
    """Return a path with the name of a public input in place of its number."""
    section, *rest = path
    if section != "public_inputs":
        return path
    return (section, statement[section][rest[0]]["name"], *rest[1:])


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        study = Study(tmp_path_factory.mktemp("study"), patch)
        config = settings_of(study, with_cases(study))
        config = config.changed(regression={"heritability": 0.5})
        study.bundle(config, study.release(config))
    verify_release(study.root / "bundle")
    assert refits(study.root / "bundle")
    return study.root / "bundle"


def test_verify__every_number_that_is_changed_is_found(bundle, tmp_path):
    statement = json.loads((bundle / STATEMENT).read_text())
    accepted, n_changed = set(), 0
    for path, value in leaves({name: part for name, part in statement.items() if name != "files"}):
        for other in others(value):
            n_changed += 1
            if is_accepted(bundle, tmp_path / str(n_changed), path, other):
                accepted.add(named(statement, path))
    assert n_changed > 150
    assert accepted == FREE


def test_refits__of_estimated_heritability_too(tmp_path, monkeypatch):
    """The norms in a statement have six digits; here that moves weights by more than a refit may differ."""
    study = Study(tmp_path, monkeypatch)
    config = settings_of(study, with_cases(study))
    study.bundle(config, study.release(config))
    assert config.regression.heritability is None
    assert refits(study.root / "bundle")


def is_accepted(bundle, folder, path, value):
    """Forge a number, and the words that follow from the statement, and tell whether that is accepted."""
    shutil.copytree(bundle, folder)
    forged = json.loads((folder / STATEMENT).read_text())
    parent = forged
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    (folder / STATEMENT).write_text(json.dumps(forged, indent=2, ensure_ascii=False) + "\n")
    try:
        (folder / "privacy_statement.txt").write_text(plain_language(forged))
        (folder / "registry.yaml").write_text(to_registry_yaml(forged))
        seal(folder)
        verify_release(folder)
        refits(folder)
    except (DpgrsError, ArithmeticError, ValueError):
        return False
    finally:
        shutil.rmtree(folder)
    return True
