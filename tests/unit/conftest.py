import pytest

from step_studies import Study


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A small study, run step by step; some modules have a study of their own in its place."""
    return Study(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """A study with a bundle of BLUP within tight bounds, an outcome missing for some: not to be changed."""
    with pytest.MonkeyPatch.context() as patch:
        study = Study(tmp_path_factory.mktemp("published"), patch)
        study.hide_outcomes()
        study.publish("blup", bounds="tight", missing="counted")
    return study
