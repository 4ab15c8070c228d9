"""The check of noisy statistics in bundles: forged ones, and a second way to their public constants."""

import gzip
import hashlib
import io
import json
import re
import shutil
import zipfile

import numpy as np
import pandas as pd
import pytest

import dpgrs
from dpgrs.errors import DpgrsError
from dpgrs.io.files import save_arrays
from dpgrs.linalg import attenuation
from dpgrs.verify.bundle import verify_release
from dpgrs.verify.statistics_check import clip_moments
from forged_releases import edit, edit_statement, seal
from refused import refused

ARRAYS = "statistics/statistics.npz"
EFFECTS = "statistics/b.tsv.gz"


@pytest.fixture
def forged(published, tmp_path):
    return shutil.copytree(published.root / "bundle", tmp_path / "forged")


def arrays_of(folder):
    with np.load(folder / ARRAYS) as arrays:
        return dict(arrays)


def change(folder, **changed):
    """Write the arrays again, with others in place of some."""
    save_arrays(folder / ARRAYS, dict(sorted((arrays_of(folder) | changed).items())))


def set_frequency(*outcomes_and_folder, number="0.0625"):
    """Change the frequency of the first site in the scoring files of some outcomes."""
    *outcomes, folder = outcomes_and_folder
    for outcome in outcomes:
        edit(folder / "scores" / f"{outcome}.txt.gz", r"(^\d.*\t)[\d.]+$", rf"\g<1>{number}")


def drop_frequencies(outcome, folder):
    path = folder / "scores" / f"{outcome}.txt.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    left = [line if line.startswith("#") else line.rpartition("\t")[0] for line in lines]
    path.write_bytes(gzip.compress(("\n".join(left) + "\n").encode(), mtime=0))


def drop_first_and_forge_others(folder):
    drop_frequencies("a", folder)
    set_frequency("b", "c", folder)


def scale(name, folder):
    change(folder, **{name: arrays_of(folder)[name] * 2})


def reshape(folder):
    change(folder, cross=arrays_of(folder)["cross"].T)


def retype(folder):
    change(folder, cross=arrays_of(folder)["cross"].astype(np.float32))


def leave_out(folder):
    arrays = arrays_of(folder)
    save_arrays(folder / ARRAYS, {name: array for name, array in sorted(arrays.items()) if name != "squares"})


def add_member(folder):
    change(folder, zeal=np.zeros(3))


def hide_text(folder):
    content = (folder / ARRAYS).read_bytes()
    (folder / ARRAYS).write_bytes(b"sample HG00096" + content)


def comment(folder):
    with zipfile.ZipFile(folder / ARRAYS, "a") as archive:
        archive.comment = b"sample HG00096"


def set_a_time(folder):
    arrays = arrays_of(folder)
    with zipfile.ZipFile(folder / ARRAYS, "w") as archive:
        for name, array in sorted(arrays.items()):
            member = zipfile.ZipInfo(f"{name}.npy", date_time=(2026, 11, 27, 0, 0, 0))
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array)


def pack(folder):
    arrays = arrays_of(folder)
    (folder / ARRAYS).unlink()
    np.savez_compressed(folder / ARRAYS, **dict(sorted(arrays.items())))


def make_pickle(folder):
    with zipfile.ZipFile(folder / ARRAYS, "w") as archive:
        for name in ("cross", "frequency", "gram", "observed", "slopes", "squares"):
            content = io.BytesIO()
            np.save(content, np.zeros(3, dtype=object), allow_pickle=True)
            archive.writestr(f"{name}.npy", content.getvalue())


def make_pickle_of_its_size(folder):
    """Of arrays of the same size, one whose header asks for Python objects."""
    content = (folder / ARRAYS).read_bytes()
    assert content.count(b"'<f8'") == 6
    (folder / ARRAYS).write_bytes(content.replace(b"'<f8'", b"'|O' ", 1))


def break_symmetry(folder):
    G = arrays_of(folder)["gram"].copy()
    G[0, 1] += 1
    change(folder, gram=G)


def leave_grid(folder):
    change(folder, cross=arrays_of(folder)["cross"] + 2.0**-40)


def make_nan(folder):
    change(folder, observed=arrays_of(folder)["observed"] * np.nan)


def rewrite(folder, edited):
    table = pd.read_csv(folder / EFFECTS, sep="\t", dtype=str)
    text = edited(table).to_csv(sep="\t", index=False, lineterminator="\n")
    (folder / EFFECTS).write_bytes(gzip.compress(text.encode(), mtime=0))
    mend_digest(folder)


def mend_digest(folder):
    """As a forger would: the metadata are of the file."""
    path = folder / f"{EFFECTS}-meta.yaml"
    own = hashlib.md5((folder / EFFECTS).read_bytes(), usedforsecurity=False).hexdigest()
    path.write_text(re.sub("(?<=data_file_md5sum: ).*", own, path.read_text()))


def set_cell(column, value, folder):
    def edited(table):
        table.loc[1, column] = value
        return table

    rewrite(folder, edited)


def drop_row(folder):
    rewrite(folder, lambda table: table.drop(index=2))


def swap_rows(folder):
    rewrite(folder, lambda table: table.iloc[[1, 0, 2, 3]])


def add_column(folder):
    rewrite(folder, lambda table: table.assign(note="HG00096"))


def set_sample_size(folder):
    path = folder / f"{EFFECTS}-meta.yaml"
    path.write_text(path.read_text() + "sex: M\n")


def drop_metadata(folder):
    (folder / f"{EFFECTS}-meta.yaml").unlink()


def drop_arrays(folder):
    (folder / ARRAYS).unlink()


def of(function, *terms, **options):
    return lambda folder: function(*terms, folder, **options)


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (of(scale, "gram"), "gram must be symmetric, with n/4"),
        (of(scale, "cross"), "beta must follow"),
        (of(scale, "observed"), "must be of its file|of every site"),
        (of(scale, "frequency"), "frequency must be that of the scores"),
        (of(set_frequency, "a"), "its frequencies must be those of the other scores"),
        (of(set_frequency, "a", "b", "c"), "statistics.npz: frequency must be that of the scores"),
        (of(set_frequency, "a", number="1.5"), "allelefrequency_effect is malformed"),
        (of(drop_frequencies, "a"), "its frequencies must be those of the other scores"),
        (of(drop_frequencies, "b"), "its frequencies must be those of the other scores"),
        (of(drop_first_and_forge_others), "its frequencies must be those of the other scores"),
        (of(scale, "slopes"), "slopes must follow"),
        (of(scale, "squares"), "squares must follow"),
        (reshape, "plain float64 array of shape"),
        (retype, "and nothing else"),
        (leave_out, "and nothing else"),
        (add_member, "and nothing else"),
        (hide_text, "and nothing else"),
        (comment, "and nothing else"),
        (set_a_time, "must be plain, without times and attributes"),
        (pack, "and nothing else"),
        (make_pickle, "and nothing else"),
        (make_pickle_of_its_size, "must hold the arrays of this release"),
        (break_symmetry, "gram must be symmetric"),
        (leave_grid, "cross must be on the grid"),
        (make_nan, "observed must be finite"),
        (of(set_cell, "beta", "0.5"), "beta must follow"),
        (of(set_cell, "standard_error", "0.001"), "standard_error must follow"),
        (of(set_cell, "neg_log_10_p_value", "8"), "neg_log_10_p_value must follow"),
        (of(set_cell, "effect_allele_frequency", "0.41"), "effect_allele_frequency must follow"),
        (of(set_cell, "effect_allele", "G"), "of every site of the score"),
        (of(set_cell, "beta", "1e3"), "plain decimals"),
        (of(set_cell, "n", "301"), "n must follow"),
        (of(set_cell, "n", "0300"), "of every site of the score"),
        (drop_row, "of every site of the score"),
        (swap_rows, "of every site of the score"),
        (add_column, "of every site of the score"),
        (set_sample_size, "meta.yaml must be of its file"),
        (drop_metadata, "must name each file of scores, standard errors and statistics once"),
        (drop_arrays, "must name each file of scores, standard errors and statistics once"),
    ],
)
def test_verify__finds_statistics_that_are_not_the_releases(forged, forge, said):
    forge(forged)
    seal(forged)
    with pytest.raises(DpgrsError, match=said):
        verify_release(forged)


def test_verify__finds_another_sigma(forged):
    """By claims, and where these are right by the errors that follow."""
    statement = json.loads((forged / "privacy_statement.json").read_text())
    (place,) = [i for i, part in enumerate(statement["mechanisms"]) if part["statistic"] == "cross product"]
    sigma = float(statement["mechanisms"][place]["sigma"])
    edit_statement(forged, ["mechanisms", place, "sigma"], repr(sigma / 2))
    seal(forged)
    with pytest.raises(DpgrsError, match="must not be trusted"):
        verify_release(forged)


def test_open_release__finds_scores_that_are_not_of_its_statistics(forged):
    G = arrays_of(forged)["gram"].copy()
    G[0, 0] += 64
    change(forged, gram=G)
    seal(forged)
    verify_release(forged)  # takes the fits
    with refused("weights-differ"):
        dpgrs.open_release(forged)


def test_open_release__holds_slopes_to_the_last_stated_digit(forged):
    change(forged, slopes=arrays_of(forged)["slopes"] * 1.001, cross=arrays_of(forged)["cross"])
    seal(forged)
    with pytest.raises(DpgrsError, match="must follow"):
        dpgrs.open_release(forged)


@pytest.mark.parametrize("norm", [None, 0.9, 1.8])
@pytest.mark.parametrize("is_joint", [True, False])
@pytest.mark.parametrize(("n_alike", "bound"), [(1, 3.0), (40, 3.0), (40, 1000.0), (1, 50.0)])
def test_clip_moments__a_second_way_to_the_same_constants(norm, is_joint, n_alike, bound):
    prevalence = np.repeat([np.nan, 0.05, 0.4, np.nan], n_alike)
    norm = None if norm is None else norm * np.sqrt(n_alike)
    terms = {"bound": bound, "norm": norm, "n_shared": len(prevalence) if is_joint else 1}
    found = clip_moments(prevalence, bound, np.inf if norm is None else norm, is_joint)
    np.testing.assert_allclose(found, attenuation.clip_moments(prevalence, **terms), rtol=0.005)
