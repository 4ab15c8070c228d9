"""Check the table of the weights of covariates in a bundle against its statement."""

import csv
import hashlib
import math

from dpgrs.privacy.statement.content import COVARIATES_INPUT

FILE, LOADINGS = "covariate_weights.tsv", "pca_loadings.tsv"
COLUMNS = ["outcome", "covariate", "weight", "centre", "scale", "bound"]
STATED_LOADINGS = "loadings of principal components"


def covariate_problems(statement, files):
    """List what is wrong with the weights of covariates.

    Parameters
    ----------
    statement : dict that fits the schema.
    files : dict of a file's name to its path, of the bundle.

    Returns
    -------
    list of str
    """
    stated = _stated(statement, COVARIATES_INPUT)
    if bool(stated) != (FILE in files):
        return [f"{FILE} must be there if and only if the statement names covariates"]
    if not stated:
        return [f"{LOADINGS} must not be there without covariates"] if LOADINGS in files else []
    text = files[FILE].read_text(encoding="utf-8", errors="replace")
    try:
        header, *lines = csv.reader(text.splitlines(), delimiter="\t")
    except (ValueError, csv.Error):  # empty, or no table
        header, lines = [], []
    if header != COLUMNS or any(len(line) != len(COLUMNS) for line in lines):
        return [f"{FILE} must have the columns {', '.join(COLUMNS)}"]
    names = list(dict.fromkeys(line[1] for line in lines))
    outcomes = statement["data_domain"]["outcomes"]
    problems = []
    if [line[:2] for line in lines] != [[outcome, name] for outcome in outcomes for name in names]:
        problems.append(f"{FILE} must have a line for every outcome and covariate, in their order")
    if ", ".join(names) != stated[0]:
        problems.append(f"{FILE} must hold the covariates of the statement, {stated[0]}")
    if not all(_is_sound(line[2:]) for line in lines):
        problems.append(f"{FILE} must hold finite numbers, scales and bounds above 0")
    constants = {(name, *own) for _, name, _, *own in lines}
    held = [hashlib.sha256(files[name].read_bytes()).hexdigest() for name in (LOADINGS,) if name in files]
    if _stated(statement, STATED_LOADINGS) != held:
        problems.append(f"{LOADINGS} must be there with the digest in the public inputs, or in neither")
    if len(constants) != len(names):
        problems.append(f"{FILE} must give a covariate the same centre, scale and bound for every outcome")
    return problems


def _stated(statement, name):
    return [one["value"] for one in statement["public_inputs"] if one["name"] == name]


def _is_sound(cells):
    try:
        weight, centre, scale, bound = map(float, cells)
    except ValueError:
        return False
    return all(map(math.isfinite, (weight, centre, scale, bound))) and scale > 0 and bound > 0
