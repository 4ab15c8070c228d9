"""How statements name audited mechanisms."""

# In whose audit rows are turned before they are summed, beside that of plain X'Y.
STEERED = "steered statistics"
# Statistics whose function is not named after them.
FUNCTIONS = {"Kendall's correlations": "private_kendall"}


def audited_function(statistic: str) -> str:
    """Return the name of the ``private_*`` function that releases a statistic."""
    return FUNCTIONS.get(statistic, f"private_{statistic.replace(' ', '_')}")
