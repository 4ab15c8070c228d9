"""Who of the genotypes is in a study, by lists of ids, consent codes and relatives; and their bits alone.

All of it is private, so messages name files, lines and columns, never a sample, a value or a count.
"""

import heapq
import math
from collections import defaultdict

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import pack, unpack
from dpgrs.io.files import read_bytes
from dpgrs.io.tables.alike_ids import plain_id
from dpgrs.io.tables.tables import (
    MISSING,
    SAMPLE_COLUMNS,
    describe_mismatch,
    find_column,
    header_of,
    number_of,
    plain_name,
    rows_of,
)

FIRST_COLUMNS, SECOND_COLUMNS, KINSHIP_COLUMN = {"id1", "iid1"}, {"id2", "iid2"}, "kinship"


def choose_people(samples, terms, *, shows_ids=False):
    """Choose the people of a study, each by what is asked of them, relatives last.

    Parameters
    ----------
    samples : sequence of n_samples str, the people of the genotypes in their order.
    terms : PeopleTerms
    shows_ids : bool, whether an error may quote ids (open data only).

    Returns
    -------
    chosen : list of str, in the order of `samples`.
    counts : dict of n_people, n_chosen, left_out (people by the first reason that held), unknown (ids of
        each list that are not in the genotypes) and alike (those of them that are like one there, by
        `plain_id`).

    Raises
    ------
    DpgrsError
        If a file cannot be read or shares no id with the genotypes, or nobody is left.
    """
    left, reasons, unknown, alike = list(samples), {}, {}, {}
    plain_samples = set(map(plain_id, samples))

    def drop(reason, ids):
        reasons[reason] = sum(sample in ids for sample in left)
        left[:] = [sample for sample in left if sample not in ids]

    def known(name, ids, path):
        ids, everybody = dict.fromkeys(ids), set(samples)
        mismatch = describe_mismatch(ids, samples, shows_ids=shows_ids) if ids else None
        if mismatch:
            raise DpgrsError(f"`{path}` {mismatch}")
        strangers = [sample for sample in ids if sample not in everybody]
        if any('"' in sample for sample in strangers):
            raise DpgrsError(f"`{path}` must hold ids as the genotypes do, got quotes. Take them off.")
        unknown[name] = len(strangers)
        alike[name] = sum(plain_id(sample) in plain_samples for sample in strangers)
        return set(ids)

    if terms.keep is not None:
        drop("not_kept", set(samples) - known("keep", read_ids(terms.keep), terms.keep))
    if terms.remove is not None:
        drop("removed", known("remove", read_ids(terms.remove), terms.remove))
    if terms.consent is not None:
        codes = read_consent(terms.consent, column=terms.consent_column)
        known("consent", codes, terms.consent)
        drop("no_consent", {sample for sample in samples if not _allows(terms.allow, codes.get(sample))})
    if terms.related is not None:
        drop("related", _relatives(terms, left, known))
    if not left:
        asked = ", ".join(f"`{key}`" for key in terms.paths)
        raise DpgrsError(f"{asked} must leave people of the genotypes, got none. Correct what they ask for.")
    counts = {"n_people": len(samples), "n_chosen": len(left), "left_out": reasons}
    return left, counts | {"unknown": unknown, "alike": alike}


def is_never_allowed(code):
    """Tell whether a consent code lets nobody in: empty, missing, or dbGaP's group 0 (no consent)."""
    return code is None or code in MISSING or _is_zero(code)


def read_ids(path):
    """Read sample ids: one a line, or a table with a column `sample` or `IID` (or `id`) in its first line.

    Raises
    ------
    DpgrsError
        If the file cannot be read, or has several columns and none of that name.
    """
    rows = list(rows_of(path))
    if not rows:
        return []
    column = find_column([plain_name(name) for name in rows[0][1]], SAMPLE_COLUMNS)
    if column is not None:
        return [cells[column] for _, cells in rows[1:] if cells[column]]
    if len(rows[0][1]) > 1:
        raise DpgrsError(
            f"`{path}`, line {rows[0][0]}: must be one id, or names of columns with `sample` or `IID` "
            "among them, got several columns without. Name that of the ids."
        )
    return [cells[0] for _, cells in rows]


def read_consent(path, *, column):
    """Read the consent code of each person.

    Parameters
    ----------
    path : a table with a column `sample`, `IID` or `SAMPLE_ID` and one of codes.
    column : str, the name of that; case does not matter.

    Returns
    -------
    dict of sample id to code, text.

    Raises
    ------
    DpgrsError
        If the file cannot be read, lacks a column, or holds a person twice: which code counts?
    """
    rows = rows_of(path)
    header = [plain_name(name) for name in header_of(rows, path)]
    sample, code = find_column(header, SAMPLE_COLUMNS), find_column(header, {plain_name(column)})
    if sample is None or code is None:
        raise DpgrsError(
            f"`{path}`: columns `sample` and `{column}` must be there. Name them above the people, or set "
            "`people.consent.column`."
        )
    codes, lines = {}, {}
    for line, cells in rows:
        if cells[sample] in lines:
            raise DpgrsError(
                f"`{path}`, line {line}: each person must have one line, got the id of line "
                f"{lines[cells[sample]]}. Keep one of the two."
            )
        lines[cells[sample]], codes[cells[sample]] = line, cells[code]
    return codes


def is_pair_table(path):
    """Tell a table of related pairs from a list of ids, by the names of its columns.

    Raises
    ------
    DpgrsError
        If the file cannot be read.
    """
    return _pair_columns(next(rows_of(path), (1, []))[1]) is not None


def read_pairs(path):
    """Read a table of pairs, as KING writes it (``.kin``, ``.kin0``) or ``plink2 --make-king-table``.

    Returns
    -------
    list of (str, str, float), two ids and their kinship.

    Raises
    ------
    DpgrsError
        If the file cannot be read, or a kinship is not a number.
    """
    rows = rows_of(path)
    columns = _pair_columns(header_of(rows, path))
    pairs = []
    for line, cells in rows:
        first, second, kinship = (cells[column] for column in columns)
        number = number_of(kinship)
        if math.isnan(number):
            raise DpgrsError(f"`{path}`, line {line}: the kinship must be a number. Correct it.")
        pairs.append((first, second, number))
    return pairs


def unrelated(samples, pairs, *, kinship):
    """Leave people out until no pair is related: each time who has the most relatives left.

    Parameters
    ----------
    samples : sequence of str. Of several with as many relatives, the last is left out.
    pairs : list of (str, str, float), two ids and their kinship; pairs with others are ignored.
    kinship : float; a pair above it is related.

    Returns
    -------
    set of str, who is left out. Whether somebody is depends on the others: no release may use this.
    """
    place = {sample: index for index, sample in enumerate(samples)}
    relatives = defaultdict(set)
    for first, second, number in pairs:
        if number > kinship and first != second and first in place and second in place:
            relatives[first].add(second)
            relatives[second].add(first)
    queue = [(-len(others), -place[sample], sample) for sample, others in relatives.items()]
    heapq.heapify(queue)
    dropped = set()
    while queue:
        degree, _, sample = heapq.heappop(queue)
        # An entry from before a relative was left out; a newer one is in the queue.
        if sample in dropped or -degree != len(relatives[sample]) or not degree:
            continue
        dropped.add(sample)
        for other in relatives.pop(sample):
            relatives[other].remove(sample)
            heapq.heappush(queue, (-len(relatives[other]), -place[other], other))
    return dropped


def find_people(path, samples):
    """Find the people whom a file lists, one id a line as ``dpgrs choose-people`` writes them.

    Parameters
    ----------
    path : the file.
    samples : sequence of n_samples str, the people of the genotypes.

    Returns
    -------
    (n_chosen,) int64, ascending places in `samples`.

    Raises
    ------
    DpgrsError
        If the file cannot be read, is empty, or names somebody else.
    """
    try:
        ids = {line for line in read_bytes(path).decode("utf-8-sig").splitlines() if line}
    except (OSError, ValueError):
        raise DpgrsError(f"`{path}` must be a list of ids. Make it: dpgrs choose-people") from None
    places = np.array([place for place, sample in enumerate(samples) if sample in ids], dtype=np.int64)
    if not ids or len(places) < len(ids):
        got = "somebody else" if ids else "nobody"
        raise DpgrsError(
            f"`{path}` must list people of the genotypes, got {got}. Make it again: dpgrs choose-people"
        )
    return places


def take_people(words, places, *, n_people):
    """Take the bits of some people out of those of all.

    Parameters
    ----------
    words : (n_variants, n_words) uint64, two bits a person.
    places : (n_chosen,) int64, whom to take.
    n_people : int, how many there are.

    Returns
    -------
    (n_variants, word_count(2 n_chosen)) uint64.
    """
    # Both haplotypes of a person move as one: a byte each, two together.
    pairs = unpack(words, 2 * n_people).view(np.uint16)
    return pack(pairs.take(places, axis=1).view(np.uint8))


def _relatives(terms, left, known):
    if not is_pair_table(terms.related):
        return known("related", read_ids(terms.related), terms.related)
    pairs = read_pairs(terms.related)
    known("related", [sample for *both, _ in pairs for sample in both], terms.related)
    return unrelated(left, pairs, kinship=terms.kinship)


def _pair_columns(header):
    """Return the columns of two ids and their kinship, or None."""
    names = [plain_name(name) for name in header]
    found = [find_column(names, wanted) for wanted in (FIRST_COLUMNS, SECOND_COLUMNS, {KINSHIP_COLUMN})]
    return None if None in found else found


def _allows(allow, code):
    return code in allow and not is_never_allowed(code)


def _is_zero(code):
    code = code.removeprefix("c")
    try:
        return float(code) == 0
    except ValueError:
        return False
