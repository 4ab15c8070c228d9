import pytest

from step_studies import Study


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A small study, run step by step; some modules have a study of their own in its place."""
    return Study(tmp_path, monkeypatch)
