"""How copies of an effect allele add up: each the same, as dominant or recessive, or by stated weights."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dpgrs.errors import DpgrsError, shown
from dpgrs.io.tables.tables import MISSING

ADDITIVE, DOMINANT, RECESSIVE, BY_DOSAGE = "additive", "dominant", "recessive", "dosage weights"
APPLIED = (ADDITIVE, DOMINANT, RECESSIVE, BY_DOSAGE)
# Rows that no sum over single alleles contains.
HAPLOTYPE, DIPLOTYPE, INTERACTION = "haplotype", "diplotype", "interaction"
UNKNOWN, CONTRADICTORY = "unknown effect type", "contradictory effect types"
TYPE_COLUMN, DOSAGE_COLUMNS = "effect_type", ("dosage_0_weight", "dosage_1_weight", "dosage_2_weight")
_COMPLEX = {"is_haplotype": HAPLOTYPE, "is_diplotype": DIPLOTYPE, "is_interaction": INTERACTION}
_MODELS = {"is_dominant": DOMINANT, "is_recessive": RECESSIVE}
COLUMNS = (*_COMPLEX, *_MODELS, TYPE_COLUMN, *DOSAGE_COLUMNS)
_NOT_STATED = {text.lower() for text in MISSING} | {"nr"}
_TRUTH = dict.fromkeys(("true", "t", "yes", "y", "1", "1.0"), True)
_TRUTH |= dict.fromkeys(("false", "f", "no", "n", "0", "0.0", *_NOT_STATED), False)
_TYPES = {ADDITIVE: ADDITIVE, DOMINANT: DOMINANT, RECESSIVE: RECESSIVE}
_TYPES |= {"nonadditive": BY_DOSAGE, "non-additive": BY_DOSAGE} | dict.fromkeys(_NOT_STATED, "")


def truth_of(text: str, *, path: Path | str, column: str) -> bool:
    """Return whether a cell of a column of flags is true."""
    truth = _TRUTH.get(text.lower())
    if truth is None:
        raise DpgrsError(
            "not-a-truth-value",
            f"`{path}`, column `{column}`: must be True or False, got {shown(text)}. Correct it.",
        )
    return truth


def type_of(text: str) -> str:
    """Return the effect type that a cell states, an empty text if it states none."""
    return _TYPES.get(text.lower().removeprefix("effecttype."), UNKNOWN)


def effect_types(
    n_rows: int, *, flags: Mapping[str, np.ndarray], stated: np.ndarray | None, has_weights: np.ndarray
) -> np.ndarray:
    """Return for each row one of `APPLIED`, or why it cannot be applied, (n_rows,) object array of str.

    `flags` are columns of (n_rows,) bool by name; `stated` are from `type_of`, None without such a column;
    `has_weights` is whether a row has weights of dosages.
    """
    types = np.full(n_rows, "", dtype=object)
    models = [(flags[name], model) for name, model in _MODELS.items() if name in flags]
    models.append((has_weights, BY_DOSAGE))
    if stated is not None:
        models += [(stated == name, name) for name in (*APPLIED, UNKNOWN)]
    for is_so, name in models:
        is_other = is_so & (types != "") & (types != name)
        types[is_so] = name
        types[is_other] = CONTRADICTORY
    types[(types == BY_DOSAGE) & ~has_weights] = UNKNOWN
    types[types == ""] = ADDITIVE
    for name, reason in _COMPLEX.items():
        if name in flags:
            types[flags[name]] = reason
    return types


def copy_effects(
    types: np.ndarray, effects: np.ndarray, dosage_weights: np.ndarray | None
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray | None]:
    """Return none, first and second: copies add ``none + first * copies + second * max(copies - 1, 0)``.

    Each is (n_rows, n_scores) float64; `none` and `second` are None if they are 0. `effects` are of a copy,
    `dosage_weights`, (n_rows, 3), of 0, 1 and 2 copies. Between whole numbers of copies this is the straight
    line, as plink2's ``--score dominant`` and ``recessive`` have it.
    """
    if (types == ADDITIVE).all():
        return None, effects, None
    none, first, second = np.zeros_like(effects), effects.copy(), np.zeros_like(effects)
    second[types == DOMINANT] = -effects[types == DOMINANT]
    second[types == RECESSIVE] = effects[types == RECESSIVE]
    first[types == RECESSIVE] = 0
    by_dosage = types == BY_DOSAGE
    if by_dosage.any():
        weight_0, weight_1, weight_2 = dosage_weights[by_dosage].T[:, :, np.newaxis]
        none[by_dosage], first[by_dosage], second[by_dosage] = (
            weight_0,
            weight_1 - weight_0,
            weight_2 - 2 * weight_1 + weight_0,
        )
    return none, first, second
