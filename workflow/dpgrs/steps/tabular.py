"""Run a method on a plain table: random splits, seeded noise, R^2 on the rows left out. Benchmarks only."""

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.evaluation.table_trials import fit_split, median_r2, random_split
from dpgrs.io.tables.csv_tables import OWN_SCALE, read_feature_table, read_scales
from dpgrs.methods.compositions import TableRequest
from dpgrs.methods.registry import table_methods
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.reporting.text_table import text_table


def run_tabular(path, *, target, one_hot, drop=(), method, trials, seed, test_share, scale, **terms):
    """Fit a method in several trials, each with a random split and noise of its own.

    Parameters
    ----------
    path : a table, see `read_feature_table`.
    target : str, or None for the last column.
    one_hot : sequence of str, columns of labels.
    drop : sequence of str, columns to leave out.
    method : str, of `table_methods`.
    trials : int > 0
    seed : int, public.
    test_share : float in (0, 1), share of rows that a trial is measured on.
    scale : None for values as they are; `OWN_SCALE` for mean and standard deviation of the training rows,
        which are not private; else the path of a table, see `read_scales`.
    **terms : of `TableRequest`.

    Returns
    -------
    dict of JSON values; the lists have an entry for each trial. `r2` and `r2_training`, on the rows that were
    fitted, are None where there is no model, and medians where there is none in half of the trials: no model
    counts as worse than any other.

    Raises
    ------
    UsageError
        For a table or terms with which no trial can give a model.
    """
    request, row = TableRequest(**terms), table_methods()[method]
    table = read_feature_table(path, target=target, one_hot=one_hot, drop=drop)
    scales = None if scale in (None, OWN_SCALE) else read_scales(scale, table)
    n_rows, n_features = table.X.shape
    n_test = max(round(test_share * n_rows), 1)
    request.require_features(row, n_features)
    _require_rows(path, n_rows - n_test, n_test, least=max(request.least_rows(row, n_features), 2))
    found = []
    for trial in range(1, trials + 1):
        split = random_split(n_rows, n_test, seed=seed, key=("tabular split", trial))
        X, y = _scaled(table, split[1], scales=scales, is_own=scale == OWN_SCALE)
        noise = BenchmarkNoise(seed, "tabular", trial)
        found.append(fit_split(X, y, split, method=row, request=request, noise=noise))
    r2, training, fits = ([getattr(one, name) for one in found] for name in ("r2", "training_r2", "fit"))
    return {
        "method": method,
        **{name: terms[name] for name in ("epsilon", "delta", "k")},
        "trials": trials,
        "r2": r2,
        "r2_median": median_r2(r2),
        "r2_training": training,
        "r2_training_median": median_r2(training),
        "status": [str(fit.status) for fit in fits],
        "models": [fit.n_models for fit in fits],
        "chosen": [[table.features[j] for j in fit.chosen] for fit in fits],
        "budget": request.budget(row),
        "neighbours": str(request.neighbours),
        "scale": scale,
        "seed": seed,
        "target": table.target,
        "rows": n_rows,
        "features": n_features,
        "test_rows": n_test,
        "is_private": False,
    }


def as_text(result):
    """Return the result of `run_tabular` as a table and what is to be known of it, a str."""
    row = table_methods()[result["method"]]
    has_screening, has_models = row.is_screened, row.reads_count
    columns = ["trial", "R2"] + ["models"] * has_models + ["features"] * has_screening
    rows = []
    for number, value in enumerate(result["r2"]):
        shown = result["status"][number] if value is None else _number(value)
        models = [str(result["models"][number])] * has_models
        rows.append([str(number + 1), shown, *models, *[", ".join(result["chosen"][number])] * has_screening])
    return "\n".join([text_table(columns, rows), "", *_summary(result)])


def caveats(result):
    """Return what a result of `run_tabular` must not be taken for, a list of str."""
    is_noisy = not table_methods()[result["method"]].is_non_private
    why = "The noise is seeded, and anyone can take it off." if is_noisy else "This method draws no noise."
    lines = [f"Benchmark: not private. {why}"]
    if result["scale"] == OWN_SCALE:
        lines.append("Columns are centred and scaled by the rows' own values, which no epsilon covers.")
    return lines


def _summary(result):
    n_fitted = sum(value is not None for value in result["r2"])
    n_training = result["rows"] - result["test_rows"]
    median, fitted = result["r2_median"], result["r2_training_median"]
    shown = "no model" if median is None else _number(median)
    shown += "" if fitted is None else f", and {_number(fitted)} on the rows that were fitted"
    yield f"Median R2: {shown}; {n_fitted} of {result['trials']} trials gave a model."
    yield (
        f"`{result['target']}` from {result['features']} features; "
        f"{n_training} rows to train on and {result['test_rows']} to test on in each trial."
    )
    parts = [f"{name} {epsilon:.3g}" for name, epsilon in result["budget"].items() if epsilon]
    if parts:
        yield (
            f"Epsilon {result['epsilon']:g} ({', '.join(parts)}), delta {result['delta']:g}, "
            f"{result['neighbours']} of a row."
        )


def _number(value):
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.2g}"


def _require_rows(path, n_training, n_test, *, least):
    if n_training < least:
        raise UsageError(
            f"`{path}` must have at least {least} rows to train on for such a model, got {n_training} beside "
            f"{n_test} to test on. Add rows, drop features, or lower `--test-share`."
        )


def _scaled(table, training, *, scales, is_own):
    """Return features and outcome, scaled if asked for. R^2 does not hang on the scale of the outcome."""
    values = np.column_stack([table.X, table.y])
    if is_own:
        centres, widths = values[training].mean(axis=0), values[training].std(axis=0)
        # A level may be in no training row.
        scales = centres, np.where(widths > 0, widths, 1.0)
    if scales is not None:
        values = (values - scales[0]) / scales[1]
    return values[:, :-1], values[:, -1]
