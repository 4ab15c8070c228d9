"""Studies with 0/1 outcomes whose cases are counted."""

import numpy as np

from outcome_files import changed_outcomes
from step_studies import N_VARIANTS

PREVALENCE = np.array([0.3, np.nan, 0.1])
EXACT = {"a": 90, "c": 20}


def with_cases(study):
    """Make the first and the third outcome 0/1, the third known of 200 people; return the path of scales."""
    with changed_outcomes(study.root / "outcomes.zarr") as outcomes:
        values, n_copies = outcomes.values[N_VARIANTS], len(outcomes.is_training) // 300
        outcomes.prevalence[:] = PREVALENCE
        for place, name in ((0, "a"), (2, "c")):
            p = PREVALENCE[place]
            is_case = np.repeat(np.arange(300) < EXACT[name], n_copies)
            values[place] = (is_case - p) / np.sqrt(p * (1 - p))
        values[2, 200 * n_copies :] = np.nan
    scales = study.root / "scales.tsv"
    scales.write_text("outcome\tcentre\tscale\tprevalence\na\t-9\t-9\t0.3\nb\t0\t1\t-9\nc\t-9\t-9\t0.1\n")
    return str(scales)


def settings_of(study, scales, method="blup", *, missing="counted", **privacy):
    privacy = {"bounds": "tight", "case_share": 0.25, "epsilon": 4, "unit": "person"} | privacy
    config = study.settings(method, missing=missing, **privacy)
    return config.changed(outcomes={"scales": scales}, release={"audit_draws": 0})


class DrawnCases:
    """Draws whose noise brings counts to given numbers."""

    def __init__(self, cases, observed=None, n=100):
        self.cases, self.observed, self.n = np.array(cases), observed, n
