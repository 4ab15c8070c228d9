"""What scoring writes: people's scores, the report of the match, and a summary; all or nothing."""

import json
import math
import re
from collections import Counter

import numpy as np

from dpgrs import __version__
from dpgrs.errors import shown
from dpgrs.io.effect_types import ADDITIVE
from dpgrs.io.files import replacing
from dpgrs.io.genotype_files import as_paths
from dpgrs.scoring.ancestry import ADJUSTED

SCORES, MATCH, SUMMARY = "scores.tsv.gz", "match.tsv.gz", "summary.json"
REFERENCE, REPORT, FIGURES = "reference.tsv.gz", "report", "figures"
IN_UNIT, STANDARD = "the outcome's own", "standard deviations of the outcome"
_PEOPLE_AT_A_TIME = 2**14
_MOST_NAMED, _MOST_LISTED = 3, 10
# With one of these in a text, all texts are in quotes.
_ODD = re.compile(r'["\t\r\n]')


def write_applied(directory, applied, *, target, field, draw=None):
    """Write a folder of results, which is whole or absent.

    Parameters
    ----------
    directory : the folder, new or empty.
    applied : dpgrs.scoring.apply.Applied
    target : list of paths, the genotype files.
    field : ``GT`` or ``DS``.
    draw : function of the folder and the summary that writes pages of people into it; None writes none.

    Returns
    -------
    dict, the summary.
    """
    summary = summarise(applied, target=target, field=field)
    with replacing(directory) as folder:
        folder.mkdir(mode=0o700)
        if applied.sums is not None:
            _write_scores(folder / SCORES, applied)
        if applied.reference is not None:
            _write_reference(folder / REFERENCE, applied)
        _write_match(folder / MATCH, applied)
        text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        (folder / SUMMARY).write_text(text, encoding="utf-8")
        if draw is not None and applied.sums is not None:
            draw(folder, summary)
    return summary


def summarise(applied, *, target, field):
    """Say what was scored, as a dict for programs; see `write_applied` for the parameters."""
    lists = [_summary_of_list(one, applied.matching) for one in applied.shared]
    n_unknown = applied.n_unknown if applied.sums is not None else np.zeros(len(applied.outcomes), dtype=int)
    used = zip(applied.outcomes, applied.n_variants, applied.n_used, n_unknown, strict=True)
    return {
        "dpgrs": __version__,
        "target": [path.name for path in as_paths(target)],
        "genome_build": applied.build,
        "field": field,
        "people": len(applied.samples),
        "counts": applied.counts,
        "variants": lists,
        "scores": [
            {
                "name": outcome.name,
                "file": outcome.path.name,
                "variants": int(n_variants),
                "used": int(n_used),
                "constant": None if math.isnan(outcome.constant) else outcome.constant,
                "unit": unit_of(outcome),
                "without_covariates": outcome.has_covariates,
                "source": outcome.source,
                "unmatched_of_unknown_frequency": int(unknown),
            }
            for outcome, n_variants, n_used, unknown in used
        ],
    }


def unit_of(outcome):
    """Return the unit of an outcome's predictions; None of a score without a constant."""
    if math.isnan(outcome.constant):
        return None
    return IN_UNIT if outcome.has_unit else STANDARD


def notes(summary):
    """Yield lines for the console: what was matched, and what to know of the results."""
    lists = summary["variants"]
    for one in lists[:_MOST_LISTED]:
        n_used = one["used"]
        said = ", ".join(f"{times:,} {name}" for name, times in one["status"].items())
        yield f"{one['scores']}: {n_used:,} of {one['variants']:,} variants used ({said})"
        if one["effect_types_used"].keys() - {ADDITIVE}:
            used = (f"{times:,} as {name}" for name, times in one["effect_types_used"].items())
            yield f"{one['scores']}: of these {', '.join(used)}"
        if one["ambiguous_used"]:
            yield (
                f"{one['scores']}: {one['ambiguous_used']:,} of these are A/T or C/G, which read the same on "
                "both strands: they are taken as given (--drop-ambiguous leaves them out)"
            )
    if len(lists) > _MOST_LISTED:
        yield f"{len(lists) - _MOST_LISTED} more lists of variants are in {SUMMARY}"
    yield from caveats(summary)


def caveats(summary):
    """Yield what to know of the results, a line each."""
    counts, scores = summary["counts"], summary["scores"]
    if marked := [one for one in scores if one["source"]]:
        said = ", ".join(sorted({one["source"] for one in marked}))
        yield (
            f"{_named(marked)}: {shown(said)}. Published scores of people tell of those whom these weights "
            "were trained on"
        )
    if n_filled := counts.get("variants_filled_by_own_frequency"):
        yield (
            f"missing calls of {n_filled:,} variant{'s' * (n_filled > 1)} are filled by the target's own "
            "frequency, as no public one is told (--frequencies)"
        )
    if n_calls := counts.get("calls_as_dosages"):
        yield (
            f"the target has no dosage (DS, HDS, GP) of {n_calls:,} genotype{'s' * (n_calls > 1)}: "
            "the calls are taken"
        )
    if n_alts := counts.get("alts_left_out_of_stores"):
        yield (
            f"the stores left out {n_alts:,} ALT allele{'s' * (n_alts > 1)} without letters, as `*`: a "
            "person who has one is counted as having REF. Score the genotype files to avoid this"
        )
    off = [one for one in scores if one["unit"] and one["unmatched_of_unknown_frequency"]]
    if off:
        yield (
            f"predictions of {_named(off)} lack what variants that are not in the target would add on "
            "average: give their public frequencies (--frequencies), or compare people alone"
        )
    if without := [one for one in scores if one["unit"] and one["without_covariates"]]:
        yield f"predictions of {_named(without)} are of people whose covariates are at their centres"
    if bare := [one for one in scores if not one["unit"]]:
        yield f"no constant is told of {_named(bare)}: sums and averages alone are given"


def _named(scores):
    names = [one["name"] for one in scores]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def label_of(shared):
    """Name scores that share their variants."""
    return _named([{"name": outcome.name} for outcome in shared.outcomes])


def _summary_of_list(shared, matching):
    status, is_used = matching.status[shared.rows], matching.is_used[shared.rows]
    return {
        "scores": label_of(shared),
        "variants": len(status),
        "used": int(is_used.sum()),
        "status": dict(Counter(status.tolist()).most_common()),
        "effect_types_used": dict(Counter(shared.types[is_used].tolist()).most_common()),
        "ambiguous_used": int((is_used & matching.is_ambiguous[shared.rows]).sum()),
    }


def _write_scores(path, applied):
    """Write a row for each person."""
    averages, columns = applied.averages, {}
    for place, outcome in enumerate(applied.outcomes):
        columns |= {f"{outcome.name}.sum": applied.sums[place], f"{outcome.name}.average": averages[place]}
        if unit_of(outcome):
            columns[f"{outcome.name}.score"] = applied.predictions[place]
        columns |= _adjusted_columns(outcome, applied.adjusted, place)
    _write_people(path, applied.samples, columns | _component_columns(applied.components))


def _write_reference(path, applied):
    """Write the same of the people of the reference."""
    known, columns = applied.reference, {}
    for place, outcome in enumerate(applied.outcomes):
        columns[f"{outcome.name}.sum"] = known.sums[place]
        columns |= _adjusted_columns(outcome, known.adjusted, place)
    _write_people(path, known.samples, columns | _component_columns(known.components))


def _adjusted_columns(outcome, adjusted, place):
    if adjusted is None:
        return {}
    return {f"{outcome.name}.{name}": own[place] for name, own in zip(ADJUSTED, adjusted, strict=True)}


def _component_columns(components):
    return (
        {} if components is None else {f"PC{number}": own for number, own in enumerate(components, start=1)}
    )


def _write_people(path, samples, columns):
    _write_table(path, [{"sample": samples} | columns])


def _write_match(path, applied):
    """Write a row for each variant of each list of variants, in the order of the files."""
    sites, parts = applied.matching.sites, []
    for one in applied.shared:
        rows = one.rows
        parts.append(
            {
                "scores": [label_of(one)] * len(rows),
                "chr_name": sites.contig[rows],
                "chr_position": sites.position[rows],
                "effect_allele": sites.effect_allele[rows],
                "other_allele": sites.other_allele[rows],
                "effect_type": one.types,
                "status": applied.matching.status[rows],
                "ambiguous": np.where(applied.matching.is_ambiguous[rows], "yes", "no").astype(object),
                "target": applied.matching.target[rows],
            }
        )
    _write_table(path, parts)


def _write_table(path, parts):
    """Write a table with tabs, gzipped; same table, same bytes. Texts are in quotes only if one holds any.

    `parts` lie below each other: dicts of names to columns, arrays of numbers or sequences of str.
    """
    from isal import igzip

    try:
        from pyarrow import ArrowInvalid
    except ModuleNotFoundError:
        with path.open("wb") as raw, igzip.IGzipFile("", "wb", fileobj=raw, mtime=0) as file:
            file.writelines(_plain_lines(parts))
        return
    try:
        _write_csv(path, parts, "none")
    except ArrowInvalid:
        _write_csv(path, parts, "needed")


def _write_csv(path, parts, quoting):
    import pyarrow as pa
    import pyarrow.csv
    from isal import igzip

    def column(values):
        return pa.array(values) if _is_number(values) else pa.array(values, pa.string())

    table = pa.concat_tables(
        [pa.table({name: column(values) for name, values in part.items()}) for part in parts]
    )
    options = pyarrow.csv.WriteOptions(
        delimiter="\t", quoting_style=quoting, quoting_header=quoting, batch_size=_PEOPLE_AT_A_TIME
    )
    with path.open("wb") as raw, igzip.IGzipFile("", "wb", fileobj=raw, mtime=0) as file:
        pyarrow.csv.write_csv(table, file, options)


def _plain_lines(parts):
    """Yield the lines that pyarrow writes, as bytes."""
    texts = [list(parts[0])]
    texts += [values for part in parts for values in part.values() if not _is_number(values)]
    has_odd = any(_ODD.search(text) for column in texts for text in column)

    def quoted(text):
        return '"' + text.replace('"', '""') + '"' if has_odd else text

    yield ("\t".join(map(quoted, parts[0])) + "\n").encode()
    for part in parts:
        cells = [
            map(_plain_number if _is_number(values) else quoted, np.asarray(values).tolist())
            for values in part.values()
        ]
        for line in zip(*cells, strict=True):
            yield ("\t".join(line) + "\n").encode()


def _is_number(values):
    return isinstance(values, np.ndarray) and values.dtype != object


def _plain_number(number):
    """Write a number with the fewest digits, as pyarrow does."""
    if isinstance(number, int) or number == 0 or 1e-4 <= abs(number) < 1e10 or not math.isfinite(number):
        return repr(number).removesuffix(".0")
    if 1e-6 <= abs(number) < 1e-4:
        return np.format_float_positional(number, trim="-")
    return np.format_float_scientific(number, trim="-", exp_digits=1)
