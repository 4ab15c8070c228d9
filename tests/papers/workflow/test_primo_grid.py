"""The PRIMO paper's figure 2 on real haplotypes of chromosome 1, with its accounting and one small lambda."""

import pandas as pd
import pytest
import yaml

from study_runs import REPOSITORY, run

pytestmark = [pytest.mark.experiments, pytest.mark.realdata, pytest.mark.nightly]

# Numbers of outcomes; at the last one are more outcomes than rows.
COUNTS = [100, 1000, 5000]


@pytest.fixture(scope="module")
def r2(tmp_path_factory, real_data):
    """Mean R^2 by (method, protection, number of outcomes), d = 100 and epsilon 5."""
    shipped = yaml.safe_load((REPOSITORY / "config" / "primo_grid.yaml").read_text())
    vcf = real_data / "1kg" / "phase3_chr1_region" / "chr1_11697036-11836540.vcf.gz"
    settings = shipped | {
        "cohort": {"source": "vcf", "vcf": str(vcf), "chromosomes": ["1"]},
        "methods": ["reusecov-gauss", "reusecov-proj"],
        "variants": {"size": [100]},
        "outcomes": {"count": COUNTS},
        "privacy": shipped["privacy"] | {"epsilon": [5], "protection": ["full", "feature"]},
        "replicates": 1,
    }
    folder = tmp_path_factory.mktemp("primo")
    table = f"results/{settings['study']}/metrics.tsv"
    run(folder, settings, table)
    metrics = pd.read_csv(folder / table, sep="\t")
    return metrics.groupby(["method", "protection", "n_outcomes"])["r2"].mean()


@pytest.mark.parametrize("count", COUNTS)
def test_figure_2__projection_is_above_gauss_from_100_outcomes_on(r2, count):
    assert r2["reusecov-proj", "feature", count] > r2["reusecov-gauss", "full", count] + 0.5


@pytest.mark.parametrize("count", COUNTS[1:])
def test_figure_2__projection_is_positive_where_gauss_is_negative(r2, count):
    assert r2["reusecov-proj", "feature", count] > 0.1
    assert r2["reusecov-gauss", "full", count] < -5
