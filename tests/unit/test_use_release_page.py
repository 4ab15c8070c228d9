"""The code of the page for recipients that no other test runs."""

import numpy as np
import pandas as pd
import pytest

N, D = 1500, 5


@pytest.mark.parametrize("diagonal", [N / 2, -1.5, 0.0])
def test_fits_outside__are_finite_where_noise_makes_the_diagonal_small(
    repository, tmp_path, monkeypatch, capsys, diagonal
):
    page = (repository / "docs" / "how-to" / "use_release.md").read_text()
    code = page.partition("### Fits outside")[2].partition("```python")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "release-demo" / "release" / "statistics"
    folder.mkdir(parents=True)
    gram = np.eye(D + 1) * N / 2
    gram[1, 1] = diagonal
    np.savez(folder / "statistics.npz", gram=gram)
    columns = {"beta": 0.1, "standard_error": 0.05, "effect_allele_frequency": 0.3, "n": N}
    table = pd.DataFrame(columns, index=range(D))
    table.to_csv(folder / "simulated_0001.tsv.gz", sep="\t", index=False)
    found = {}
    exec(compile(code, "use_release.md", "exec"), found)
    assert np.isfinite(found["infinitesimal"]).all()
    assert np.isfinite(found["sparse"]).all()
    assert np.abs(found["infinitesimal"]).max() < 1
    assert "infinitesimal" in capsys.readouterr().out
