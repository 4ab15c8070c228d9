"""Check the noisy statistics of a bundle: every file of them whole, by other code than what wrote them.

Whether scores follow from them takes the fits: `dpgrs.release.open_release` looks.
"""

import io
import itertools
import math
import operator
import re
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_ndtr, ndtri

from dpgrs.errors import UsageError
from dpgrs.statement.draws import CASES, CROSS, EIGENVALUE, GENOME, GRAM, KNOWN
from dpgrs.statement.effects_metadata import TRUNCATED_LD, case_counts_of, metadata, notes_of
from dpgrs.statement.methods import stated_method
from dpgrs.statement.words import ROWS_INPUT
from dpgrs.types import Rows
from dpgrs.verify.covariate_check import stated_inputs, stated_values
from dpgrs.verify.draw_check import has_statistics
from dpgrs.verify.entry_check import MOST_AXES, ROW_NORM, STATED, columns_of, components_of
from dpgrs.verify.folder_check import MIB, file_digest, lines_of, read_text
from dpgrs.verify.input_check import OUTCOME_BOUND, OUTCOME_NORM, constants_of_outcomes
from dpgrs.verify.scoring_check import CHROMOSOMES, column_numbers, read_scoring_file

FOLDER = "statistics/"
ARRAYS, META = f"{FOLDER}statistics.npz", "-meta.yaml"
# By statistic: the array that a draw of it is. The number of rows is in the statement.
DRAWN = {GRAM.statistic: "gram", KNOWN: "observed", CROSS: "cross", CASES: "cases"}
DRAWN |= {EIGENVALUE: "smallest_eigenvalue"}
COLUMNS = ("chromosome", "base_pair_location", "effect_allele", "other_allele", "beta", "standard_error")
COLUMNS += ("effect_allele_frequency", "neg_log_10_p_value", "n")
# Of sums along directions of a public map (`dpgrs.linalg.truncated_ld`).
OF_TRUNCATED_LD = ("noise_scale", "ld_score")
CELL, DECIMAL = r"[^\t\n]*", r"-?\d{1,400}(?:\.\d{1,400})?"
# Effects have ten digits, p-values six; the law of clipped outcomes is worked out on a grid.
OF_EFFECTS, OF_CLIPS = 1e-8, 0.02
ERRORS = {"effect_allele_frequency": 0, "neg_log_10_p_value": 1e-4, "n": 0}
# Bytes of a zip file beside names and contents, sizes of 64 bits with each member, without any comment.
OF_MEMBER, OF_DIRECTORY, OF_END = 50, 46, 22
GRID, NODES, RARE = 2**13, 1000, 1e-12
# In standard deviations of the noise of the number of known rows: a smaller number is never released.
LEAST_SDS = 3
SIGMA_ROUNDING = 1e-6
OF_SINGLE = 1e-5  # of numbers from eigenvectors in single precision


def statistics_names(statement: dict[str, Any]) -> set[str]:
    """Return the names of all files of statistics; empty if the curator leaves them out."""
    if ARRAYS not in statement["files"]:
        return set()
    if not has_effects(statement):
        return {ARRAYS}
    effects = [effects_name(score) for score in statement["scores"]]
    return {ARRAYS, *effects, *(f"{name}{META}" for name in effects)}


def has_effects(statement: dict[str, Any]) -> bool:
    """Return whether effects of single variants go with the arrays: of outcomes, and of centred genotypes."""
    stated = stated_inputs(statement)
    return STATED not in stated and ROW_NORM in stated


def _is_of_directions(statement: dict[str, Any]) -> bool:
    return TRUNCATED_LD in stated_inputs(statement)


def effects_name(score: dict[str, Any]) -> str:
    """Return the name of the file of the effects of single variants beside a score of a statement."""
    return f"{FOLDER}{Path(score['file']).name.removesuffix('.txt.gz')}.tsv.gz"


def statistics_problems(statement: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """List errors in the statistics of a bundle that has no other errors."""
    if ARRAYS not in files:
        return []
    protection = statement["guarantee"]["protection"]
    has_directions = stated_method(statement["method"]).takes_map
    if _is_of_directions(statement) != has_directions:
        return [f"the public inputs must name the {TRUNCATED_LD} with statistics along directions only"]
    if not (has_directions or has_statistics(statement["method"], protection)):
        return [f"{ARRAYS} must not be there: {statement['method']} has none under {protection} protection"]
    try:
        arrays = read_statistics(statement, files)
    except (ValueError, LookupError, OSError, NotImplementedError, zipfile.BadZipFile) as error:
        return [f"{ARRAYS} must hold the arrays of this release: {error}"]
    problems = [f"{ARRAYS}: {line}" for line in _array_problems(statement, files, arrays)]
    # All scores are of the same sites.
    first = read_scoring_file(files[statement["scores"][0]["file"]])
    sites = first.sites
    if first.frequencies and column_numbers(first.frequencies).tolist() != arrays["frequency"].tolist():
        problems.append(f"{ARRAYS}: frequency must be that of the scores")
    if problems or not has_effects(statement):
        return problems
    effects_of = _effects_of_directions if has_directions else _effects
    is_there = np.isfinite(effects_of(statement, arrays, 0)["standard_error"])
    sites = "".join(
        f"{CHROMOSOMES[chromosome] + 1}\t{columns_after}\n"
        for (chromosome, columns_after), is_own in zip(
            (site.split("\t", 1) for site in sites.splitlines()), is_there, strict=True
        )
        if is_own
    )
    people = zip(_known_people(statement, arrays), is_raised(statement, arrays), strict=True)
    for index, (score, (n_people, is_floor)) in enumerate(zip(statement["scores"], people, strict=True)):
        effects = effects_of(statement, arrays, index)
        columns = {name: numbers[is_there] for name, numbers in effects.items()}
        problems += _file_problems(statement, score, files, sites, columns, n_people, is_floor)
    return problems


def array_shapes(statement: dict[str, Any], files: dict[str, Path]) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array that the statistics of a bundle hold, by name."""
    n_columns, n_drawn = columns_of(statement, files), len(components_of(files) or statement["scores"])
    shapes = {
        "gram": (n_columns + 1, n_columns + 1),
        "cross": (n_drawn, n_columns),
        "observed": (n_drawn,),
        "cases": (n_drawn,),
        "smallest_eigenvalue": (),
    }
    names = {DRAWN.get(mechanism["statistic"]) for mechanism in statement["mechanisms"]}
    public = {"frequency": (statement["data_domain"]["n_variants"],)}
    public |= {"slopes": (n_drawn,), "squares": (n_drawn,)}
    if _is_of_directions(statement):
        n_variants = public["frequency"]
        public |= {"effects": (n_drawn, *n_variants), "n_directions": ()}
        public |= dict.fromkeys((*OF_TRUNCATED_LD, "attenuations"), n_variants)
    return {name: shape for name, shape in shapes.items() if name in names} | public


def read_statistics(statement: dict[str, Any], files: dict[str, Path]) -> dict[str, np.ndarray]:
    """Read float64 arrays of a bundle whose other files are sound, of the shapes that its statement gives.

    Nothing of the file is taken on trust: its headers must be, byte by byte, those of these arrays.
    ValueError, OSError, NotImplementedError or zipfile.BadZipFile says that it holds anything else.
    """
    shapes = dict(sorted(array_shapes(statement, files).items()))
    heads, arrays, offset = {name: _head(shape) for name, shape in shapes.items()}, {}, 0
    sizes = {name: len(heads[name]) + 8 * math.prod(shape) for name, shape in shapes.items()}
    ends = sum(OF_MEMBER + OF_DIRECTORY + 2 * len(f"{name}.npy") + size for name, size in sizes.items())
    if files[ARRAYS].stat().st_size != ends + OF_END:
        raise ValueError(f"it must hold {', '.join(shapes)}, plain, and nothing else")
    with zipfile.ZipFile(files[ARRAYS]) as archive:
        members = archive.infolist()
        if [member.filename for member in members] != [f"{name}.npy" for name in shapes]:
            raise ValueError(f"it must hold {', '.join(shapes)} and nothing else")
        for member, (name, shape) in zip(members, shapes.items(), strict=True):
            layout = (member.compress_type, member.file_size, member.header_offset)
            data = archive.read(member) if layout == (zipfile.ZIP_STORED, sizes[name], offset) else b""
            if not data.startswith(heads[name]):
                raise ValueError(f"{name} must be a plain float64 array of shape {shape}")
            arrays[name] = np.frombuffer(data, "<f8", offset=len(heads[name])).reshape(shape)
            offset += OF_MEMBER + len(member.filename) + sizes[name]
    # Times, attributes and spare fields of an archive could hold anything.
    expected = _archive(heads, arrays)
    with files[ARRAYS].open("rb") as file:
        chunks = iter(lambda: file.read(MIB), b"")
        is_same = all(chunk == expected[MIB * number :][: len(chunk)] for number, chunk in enumerate(chunks))
    if not is_same:
        raise ValueError("the file must be plain, without times and attributes")
    return arrays


def _archive(heads: dict[str, bytes], arrays: dict[str, np.ndarray]) -> memoryview:
    """Return the bytes of the one file that holds these arrays."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                member.write(heads[name])
                member.write(array.reshape(-1).view(np.uint8))
    return content.getbuffer()


def _head(shape: tuple[int, ...]) -> bytes:
    """Return the bytes before the numbers of an array in a file of its own."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return head.getvalue()


def rows_of(statement: dict[str, Any]) -> int:
    """Return the number of rows of a statement, as released or public."""
    return int(float(stated_inputs(statement)[ROWS_INPUT]))


def prevalences(statement: dict[str, Any], files: dict[str, Path]) -> np.ndarray:
    """Return the public prevalences of 0/1 outcomes, NaN of others and components: (n_drawn,) float64."""
    if components := components_of(files):
        return np.full(len(components), np.nan)
    if not (constants := constants_of_outcomes(files)):
        return np.full(len(statement["scores"]), np.nan)
    return np.array([centre if is_binary else np.nan for centre, _, is_binary, _ in constants.values()])


def shares_budget(statement: dict[str, Any]) -> bool:
    """Return whether all outcomes share one budget, and therefore one clip of rows."""
    return all(
        mechanism["outcome"] is None
        for mechanism in statement["mechanisms"]
        if mechanism["statistic"] == CROSS
    )


def clips_of(statement: dict[str, Any]) -> tuple[float, float]:
    """Return the public bound on an outcome, and the norm of a row of outcomes, infinite without one."""
    stated = stated_inputs(statement)
    return float(stated[OUTCOME_BOUND]), float(stated.get(OUTCOME_NORM, "inf"))


def _array_problems(
    statement: dict[str, Any], files: dict[str, Path], arrays: dict[str, np.ndarray]
) -> list[str]:
    """Find arrays that mechanisms of the statement cannot have given, or with other public constants."""
    problems = [f"{name} must be finite" for name, array in arrays.items() if not np.isfinite(array).all()]
    if problems:
        return problems
    for mechanism in statement["mechanisms"]:
        name, grid = DRAWN.get(mechanism["statistic"]), float(mechanism.get("grid", 1))
        # Counts are at least so many, whatever was drawn.
        numbers = arrays[name] if name in arrays.keys() - {"observed"} else np.zeros(1)
        if (np.rint(numbers / grid) * grid != numbers).any():
            problems.append(f"{name} must be on the grid of its noise")
    n, is_coded = rows_of(statement), ROW_NORM in stated_inputs(statement)
    if "gram" in arrays:
        G = arrays["gram"]
        numbers = G.diagonal()
        if statement["guarantee"]["rows"] == Rows.PEOPLE or is_coded:
            numbers = numbers[-1:]
        if (G != G.T).any() or (numbers != n / 4).any():
            problems.append("gram must be symmetric, with n/4 where it is no secret")
    if "observed" in arrays:
        counts = [draw for draw in statement["mechanisms"] if draw["statistic"] == KNOWN]
        least, grid = floors(statement), float(counts[0]["grid"])
        is_drawn = np.rint(arrays["observed"] / grid) * grid == arrays["observed"]
        if not (is_drawn | (arrays["observed"] <= least)).all():
            problems.append("observed must be on the grid of its noise, or the smallest number released")
        if (arrays["observed"] < least * (1 - 2 * SIGMA_ROUNDING)).any():
            problems.append(f"observed must be at least 1 and {LEAST_SDS} standard deviations of its noise")
    if ((arrays["frequency"] < 0) | (arrays["frequency"] > 1)).any():
        problems.append("frequency must be between 0 and 1")
    if _is_of_directions(statement):
        problems += _direction_problems(statement, arrays)
    moments = clip_moments(prevalences(statement, files), *clips_of(statement), shares_budget(statement))
    for name, numbers in zip(("slopes", "squares"), moments, strict=True):
        if not np.allclose(arrays[name], numbers, rtol=OF_CLIPS, atol=0):
            problems.append(f"{name} must follow from the bounds of the outcomes")
    return problems


def _direction_problems(statement: dict[str, Any], arrays: dict[str, np.ndarray]) -> list[str]:
    """Find constants that no map with equal shares has."""
    problems, noise_scale, K = [], arrays["noise_scale"], float(arrays["n_directions"])
    (entries,) = {
        mechanism["entries"] // (1 if mechanism["outcome"] else len(statement["scores"]))
        for mechanism in statement["mechanisms"]
        if mechanism["statistic"] == GENOME
    }
    if not K.is_integer() or not max(1, entries - MOST_AXES) <= K <= entries:
        problems.append(f"n_directions must be {entries}, less axes without a share, got {K:g}")
    if ((arrays["attenuations"] <= 0) | (arrays["attenuations"] > 1)).any():
        problems.append("attenuations must be above 0 and at most 1")
    if (noise_scale < 0).any() or (arrays["ld_score"] < noise_scale**2 * (1 - OF_SINGLE)).any():
        problems.append("noise_scale must be at least 0, and ld_score at least its square")
    return problems


def clip_moments(prevalence: np.ndarray, bound: float, norm: float, is_joint: bool) -> np.ndarray:
    """Return E[y g(y)] and E[g(y)^2], (2, n_outcomes), of outcomes clipped at a bound, and in rows at a norm.

    Outcomes are independent, of mean 0 and variance 1, and the squares of a row add up on a grid.
    """
    prevalences, kind_of_outcome, counts = np.unique(prevalence, return_inverse=True, return_counts=True)
    laws = [_law(p, bound) for p in prevalences]
    step = sum(count * law[2].max() ** 2 for count, law in zip(counts, laws, strict=True)) / (GRID - 1)
    transforms = [np.fft.rfft(_on_grid(law, step)) for law in laws]
    powers = [transform**count for transform, count in zip(transforms, counts, strict=True)]
    before = [*itertools.accumulate(powers, operator.mul, initial=1.0)]
    after = [*itertools.accumulate(powers[::-1], operator.mul, initial=1.0)][::-1]
    moments, density, squares = [], np.ones(1), np.zeros(1)
    for number, (shares, y, g) in enumerate(laws):
        if is_joint:
            product = before[number] * after[number + 1] * transforms[number] ** (counts[number] - 1)
            density = np.fft.irfft(product, GRID)
            squares, density = step * np.flatnonzero(density > RARE), density[density > RARE]
        # The mean factor by which the joint clip shrinks rows with each value, and its mean square.
        shrunk = [np.minimum(1, norm / np.sqrt(np.maximum(size**2 + squares, RARE))) for size in g]
        means = [np.array([factor**power @ density for factor in shrunk]) / density.sum() for power in (1, 2)]
        moments.append([shares @ (y * g * means[0]), shares @ (g**2 * means[1])])
    return np.array(moments)[kind_of_outcome.ravel()].T


def _law(p: float, bound: float) -> np.ndarray:
    """Return shares, sizes and clipped sizes of the values of an outcome: (3, n_values) float64."""
    if math.isnan(p):
        y, shares = ndtri(0.5 + (np.arange(NODES) + 0.5) / (2 * NODES)), np.full(NODES, 1 / NODES)
    else:
        y, shares = np.array([math.sqrt(p / (1 - p)), math.sqrt((1 - p) / p)]), np.array([1 - p, p])
    return np.array([shares, y, np.minimum(y, bound)])


def _on_grid(law: np.ndarray, step: float) -> np.ndarray:
    """Return the law of a clipped square on the grid, with its mean."""
    positions = np.minimum(law[2] ** 2 / step, GRID - 1.001)
    low, fraction = positions.astype(int), positions % 1
    return np.bincount(low, law[0] * (1 - fraction), GRID) + np.bincount(low + 1, law[0] * fraction, GRID)


def _effects(statement: dict[str, Any], arrays: dict[str, np.ndarray], index: int) -> dict[str, np.ndarray]:
    """Return the columns of numbers of an outcome's file, (n_variants,) each (docs/how-to/use_release.md).

    Standard errors are NaN of variants that have no line.
    """
    p, n = arrays["frequency"], _known_rows(statement, arrays)[index]
    copies = 1 if statement["guarantee"]["rows"] == Rows.HAPLOTYPES else 2
    variance = np.where(p * (1 - p) > 0, copies * p * (1 - p), np.nan)
    scale = n * arrays["slopes"][index] * variance
    square = n * arrays["squares"][index] * variance + _noise_of(statement, CROSS)[index] ** 2
    n_people = _known_people(statement, arrays)[index]
    beta = arrays["cross"][index, : len(p)] / scale
    return _columns(p, beta, np.sqrt(square) / scale, np.full(len(p), n_people))


def _effects_of_directions(
    statement: dict[str, Any], arrays: dict[str, np.ndarray], index: int
) -> dict[str, np.ndarray]:
    """Return the same of sums along directions (`dpgrs.linalg.truncated_ld`)."""
    p, n = arrays["frequency"], _known_rows(statement, arrays)[index]
    noise = _noise_of(statement, GENOME)[index] / arrays["attenuations"]
    inverse = n * arrays["squares"][index] + arrays["n_directions"] * noise**2
    n_effective = (n * arrays["slopes"][index]) ** 2 / inverse
    sd, scale = np.sqrt(2 * p * (1 - p)), arrays["noise_scale"]
    error = np.sqrt(np.where(scale > 0, scale, np.nan) / n_effective) / sd
    columns = _columns(p, arrays["effects"][index] / sd, error, whole_people(n_effective))
    return columns | {name: arrays[name] for name in OF_TRUNCATED_LD}


def _columns(p: np.ndarray, beta: np.ndarray, error: np.ndarray, n: np.ndarray) -> dict[str, np.ndarray]:
    log_p = -(math.log(2) + log_ndtr(-np.abs(beta / error))) / math.log(10)
    return dict(zip(COLUMNS[4:], (beta, error, p, log_p, n), strict=True))


def whole_people(n_effective: np.ndarray) -> np.ndarray:
    """Return effective numbers of people as files of effects have them, int64."""
    return np.maximum(1, np.rint(n_effective)).astype(np.int64)


def _known_rows(statement: dict[str, Any], arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Return on how many rows each outcome is known, (n_outcomes,) float64."""
    return np.minimum(arrays.get("observed", np.inf), np.full(len(arrays["slopes"]), rows_of(statement)))


def _known_people(statement: dict[str, Any], arrays: dict[str, np.ndarray]) -> list[int]:
    of_person = 2 if statement["guarantee"]["rows"] == Rows.HAPLOTYPES else 1
    return np.rint(np.rint(_known_rows(statement, arrays)) / of_person).astype(int).tolist()


def sigmas_of(statement: dict[str, Any], statistic: str) -> dict[str | None, float]:
    """Return the standard deviations of noise on a statistic, by the outcome that a draw serves or None."""
    mechanisms = [mechanism for mechanism in statement["mechanisms"] if mechanism["statistic"] == statistic]
    return {mechanism.get("outcome"): float(mechanism["sigma"]) for mechanism in mechanisms}


def _noise_of(statement: dict[str, Any], statistic: str) -> np.ndarray:
    """Return the standard deviation of the noise on each outcome, (n_outcomes,) float64."""
    sigmas = sigmas_of(statement, statistic)
    return np.array([sigmas.get(score["outcome"], sigmas.get(None)) for score in statement["scores"]])


def _file_problems(
    statement: dict[str, Any],
    score: dict[str, Any],
    files: dict[str, Path],
    sites: str,
    columns: dict[str, np.ndarray],
    n_people: int,
    is_floor: bool,
) -> list[str]:
    """Compare the file of the effects on one outcome, and its metadata, with what they must be."""
    name = effects_name(score)
    text = metadata(
        name.removeprefix(FOLDER),
        files[name].read_bytes(),
        outcome=score["outcome"],
        n_people=n_people,
        genome_build=statement["data_domain"]["genome_build"],
        published=statement["curation"]["publication_date"],
        counts=case_counts_of(statement).get(score["outcome"]),
        is_floor=is_floor,
        notes=notes_of(statement),
    )
    problems = [] if read_text(files[f"{name}{META}"]) == text else [f"{name}{META} must be of its file"]
    try:
        stated_columns = _read_effects(files[name], sites, [*COLUMNS[:4], *columns])
    except ValueError as fault:
        return [*problems, f"{name}: {fault}"]
    wrong = [
        column
        for column, stated, computed in zip(columns, stated_columns, columns.values(), strict=True)
        if not np.allclose(stated, computed, rtol=(most := ERRORS.get(column, OF_EFFECTS)), atol=most / 100)
    ]
    return problems + [f"{name}: {column} must follow from {ARRAYS}" for column in wrong]


def _read_effects(path: Path, sites: str, columns: Sequence[str]) -> np.ndarray:
    """Return the numbers of a file of effects on these sites, a row for each column, or raise ValueError."""
    head, is_table, is_decimal, site_texts, faults = None, True, True, [], []
    decimal_row, row = (_row(number, len(columns) - 4) for number in (DECIMAL, CELL))
    numbers = [np.empty((len(columns) - 4, 0))]
    for text in lines_of(path, faults):
        if head is None:
            head, _, text = text.partition("\n")
        n_lines, rows = text.count("\n"), decimal_row.findall(text)
        if len(rows) < n_lines:
            rows, is_decimal = row.findall(text), False
        is_table = is_table and head.split("\t") == [*columns] and len(rows) == n_lines
        if rows and is_table:
            row_sites, *cells = zip(*rows, strict=True)
            counts = {*cells[COLUMNS.index("n") - 4]}
            is_table = all(count.isdecimal() and not count.startswith("0") for count in counts)
            site_texts.append("\n".join(row_sites) + "\n")
            numbers += [np.array([list(map(float, column)) for column in cells])] if is_decimal else []
    if faults:
        raise ValueError(faults[0])
    if not is_table or "".join(site_texts) != sites:
        raise ValueError(f"it must have {', '.join(columns)} of every site of the score")
    if not is_decimal:
        raise ValueError("it must hold plain decimals")
    return np.concatenate(numbers, axis=1)


@lru_cache
def _row(number: str, n_numbers: int) -> re.Pattern:
    """Return the pattern of a line of a site and numbers."""
    site, cells = rf"^({CELL}(?:\t{CELL}){{3}})", rf"\t({number})" * n_numbers
    return re.compile(f"{site}{cells}$", re.ASCII | re.MULTILINE)


def floors(statement: dict[str, Any]) -> np.ndarray:
    """Return the smallest numbers of known rows that are released, (n_drawn,) float64; 0 of uncounted ones.

    n_drawn is the number of outcomes, or of components in their place.
    """
    draws = [mechanism for mechanism in statement["mechanisms"] if mechanism["statistic"] == KNOWN]
    least = [max(1.0, LEAST_SDS * float(draw["sigma"])) * (1 + SIGMA_ROUNDING) for draw in draws]
    return np.repeat(least, [draw["entries"] for draw in draws]) if draws else np.zeros(1)


def is_raised(statement: dict[str, Any], arrays: dict[str, np.ndarray]) -> list[bool]:
    """Return whether the number of known rows of each outcome is the smallest one released."""
    if "observed" not in arrays:
        return [False] * len(statement["scores"])
    return (arrays["observed"] <= floors(statement)).tolist()


def ld_problems(statement: dict[str, Any], files: dict[str, Path], path: Path) -> list[str]:
    """Check that columns of a bundle in which nothing else is wrong follow from the LD, and effects have it.

    UsageError says that the release has no such effects.
    """
    digests = stated_values(statement, TRUNCATED_LD)
    if ARRAYS not in files or not digests:
        raise UsageError(
            "release-without-ld",
            "`--ld` must go with a release of effects along directions of linkage disequilibrium, got "
            "another. Leave it out.",
        )
    if [file_digest(path)] != digests:
        return [f"{path.name} must have the SHA-256 that the statement names"]
    arrays, rows_of_blocks = read_statistics(statement, files), []
    columns = {name: np.zeros_like(arrays[name]) for name in OF_TRUNCATED_LD}
    outside = np.zeros_like(arrays["effects"])
    with np.load(path, allow_pickle=False) as ld:
        for block in dict.fromkeys(name.rpartition("/")[0] for name in ld):
            rows, U, e = (ld[f"{block}/{name}"] for name in ("rows", "eigenvectors", "eigenvalues"))
            U, r = U.astype(np.float64), arrays["effects"][:, rows]
            rows_of_blocks.append(rows)
            for name, power in zip(OF_TRUNCATED_LD, (1, 2), strict=True):
                columns[name][rows] = U**2 @ e**power
            outside[:, rows] = r - (r @ U) @ U.T
    if not np.array_equal(np.sort(np.concatenate(rows_of_blocks)), np.arange(len(columns["noise_scale"]))):
        return [f"{path.name} must have each variant of the scores once"]
    problems = [
        f"{ARRAYS}: {name} must follow from {path.name}"
        for name, numbers in columns.items()
        if not np.allclose(arrays[name], numbers, rtol=OF_SINGLE, atol=OF_SINGLE**2)
    ]
    if np.linalg.norm(outside) > OF_SINGLE * np.linalg.norm(arrays["effects"]):
        problems.append(f"{ARRAYS}: effects must be along the eigenvectors of {path.name}")
    return problems
