"""What scoring writes: people's scores, the report of the match, and a summary; all or nothing."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs import __version__
from dpgrs.errors import shown
from dpgrs.io.effect_types import ADDITIVE
from dpgrs.io.files import replacing
from dpgrs.io.genotype_files import as_paths
from dpgrs.scoring.ancestry import ADJUSTED, Adjusted

if TYPE_CHECKING:
    from dpgrs.scoring.apply import Applied
    from dpgrs.scoring.matching import Matching
    from dpgrs.scoring.score_files import Outcome, SharedSites

SCORES, MATCH, SUMMARY = "scores.tsv.gz", "match.tsv.gz", "summary.json"
REFERENCE, REPORT, FIGURES = "reference.tsv.gz", "report", "figures"
IN_UNIT, STANDARD = "the outcome's own", "standard deviations of the outcome"
_PEOPLE_AT_A_TIME = 2**14
_MOST_NAMED, _MOST_LISTED = 3, 10
# With one of these in a text, all texts are in quotes.
_ODD = re.compile(r'["\t\r\n]')


def write_applied(
    directory: Path,
    applied: "Applied",
    *,
    target: Path | str | Sequence[Path | str],
    field: str,
    draw: Callable[[Path, dict[str, Any]], object] | None = None,
) -> dict[str, Any]:
    """Write a folder of results, new or empty, which is whole or absent; return the summary.

    `target` are the genotype files, `field` is ``GT`` or ``DS``. `draw` writes pages of people into the
    folder, by the summary; None writes none.
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


def summarise(applied: "Applied", *, target: Path | str | Sequence[Path | str], field: str) -> dict[str, Any]:
    """Return a summary of the scoring, a dict for programs; arguments are as for `write_applied`."""
    lists = [_summary_of_list(scores, applied.matching) for scores in applied.shared]
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


def unit_of(outcome: "Outcome") -> str | None:
    """Return the unit of an outcome's predictions; None of a score without a constant."""
    if math.isnan(outcome.constant):
        return None
    return IN_UNIT if outcome.has_unit else STANDARD


def notes(summary: dict[str, Any]) -> Iterator[str]:
    """Yield lines for the console: the matched variants, and notes on the results."""
    lists = summary["variants"]
    for listed in lists[:_MOST_LISTED]:
        n_used = listed["used"]
        statuses = ", ".join(f"{times:,} {name}" for name, times in listed["status"].items())
        yield f"{listed['scores']}: {n_used:,} of {listed['variants']:,} variants used ({statuses})"
        if listed["effect_types_used"].keys() - {ADDITIVE}:
            used = (f"{times:,} as {name}" for name, times in listed["effect_types_used"].items())
            yield f"{listed['scores']}: of these {', '.join(used)}"
        if listed["ambiguous_used"]:
            yield (
                f"{listed['scores']}: {listed['ambiguous_used']:,} of these are A/T or C/G, which read the "
                "same on both strands: they are taken as given (--drop-ambiguous leaves them out)"
            )
    if len(lists) > _MOST_LISTED:
        yield f"{len(lists) - _MOST_LISTED} more lists of variants are in {SUMMARY}"
    yield from caveats(summary)


def caveats(summary: dict[str, Any]) -> Iterator[str]:
    """Yield what to know of the results, a line each."""
    counts, scores = summary["counts"], summary["scores"]
    if marked := [score for score in scores if score["source"]]:
        sources = ", ".join(sorted({score["source"] for score in marked}))
        yield (
            f"{_named(marked)}: {shown(sources)}. Published scores of people tell of those whom these "
            "weights were trained on"
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
    off = [score for score in scores if score["unit"] and score["unmatched_of_unknown_frequency"]]
    if off:
        yield (
            f"predictions of {_named(off)} lack what variants that are not in the target would add on "
            "average: give their public frequencies (--frequencies), or compare people alone"
        )
    if without := [score for score in scores if score["unit"] and score["without_covariates"]]:
        yield f"predictions of {_named(without)} are of people whose covariates are at their centres"
    if bare := [score for score in scores if not score["unit"]]:
        yield f"no constant is told of {_named(bare)}: sums and averages alone are given"


def _named(scores: Sequence[dict[str, Any]]) -> str:
    names = [score["name"] for score in scores]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def label_of(shared: "SharedSites") -> str:
    """Return the names of scores that share their variants."""
    return _named([{"name": outcome.name} for outcome in shared.outcomes])


def _summary_of_list(shared: "SharedSites", matching: "Matching") -> dict[str, Any]:
    status, is_used = matching.status[shared.rows], matching.is_used[shared.rows]
    return {
        "scores": label_of(shared),
        "variants": len(status),
        "used": int(is_used.sum()),
        "status": dict(Counter(status.tolist()).most_common()),
        "effect_types_used": dict(Counter(shared.types[is_used].tolist()).most_common()),
        "ambiguous_used": int((is_used & matching.is_ambiguous[shared.rows]).sum()),
    }


def _write_scores(path: Path, applied: "Applied") -> None:
    """Write a row for each person."""
    averages, columns = applied.averages, {}
    for index, outcome in enumerate(applied.outcomes):
        columns |= {f"{outcome.name}.sum": applied.sums[index], f"{outcome.name}.average": averages[index]}
        if unit_of(outcome):
            columns[f"{outcome.name}.score"] = applied.predictions[index]
        columns |= _adjusted_columns(outcome, applied.adjusted, index)
    _write_people(path, applied.samples, columns | _component_columns(applied.components))


def _write_reference(path: Path, applied: "Applied") -> None:
    """Write the same of the people of the reference."""
    reference, columns = applied.reference, {}
    for index, outcome in enumerate(applied.outcomes):
        columns[f"{outcome.name}.sum"] = reference.sums[index]
        columns |= _adjusted_columns(outcome, reference.adjusted, index)
    _write_people(path, reference.samples, columns | _component_columns(reference.components))


def _adjusted_columns(outcome: "Outcome", adjusted: Adjusted | None, index: int) -> dict[str, np.ndarray]:
    if adjusted is None:
        return {}
    return {f"{outcome.name}.{name}": scores[index] for name, scores in zip(ADJUSTED, adjusted, strict=True)}


def _component_columns(components: np.ndarray | None) -> dict[str, np.ndarray]:
    return (
        {}
        if components is None
        else {f"PC{number}": component for number, component in enumerate(components, start=1)}
    )


def _write_people(path: Path, samples: Sequence[str], columns: dict[str, Any]) -> None:
    _write_table(path, [{"sample": samples} | columns])


def _write_match(path: Path, applied: "Applied") -> None:
    """Write a row for each variant of each list of variants, in the order of the files."""
    sites, blocks = applied.matching.sites, []
    for scores in applied.shared:
        rows = scores.rows
        blocks.append(
            {
                "scores": [label_of(scores)] * len(rows),
                "chr_name": sites.contig[rows],
                "chr_position": sites.position[rows],
                "effect_allele": sites.effect_allele[rows],
                "other_allele": sites.other_allele[rows],
                "effect_type": scores.types,
                "status": applied.matching.status[rows],
                "ambiguous": np.where(applied.matching.is_ambiguous[rows], "yes", "no").astype(object),
                "target": applied.matching.target[rows],
            }
        )
    _write_table(path, blocks)


def _write_table(path: Path, blocks: Sequence[dict[str, Any]]) -> None:
    """Write a table with tabs, gzipped; same table, same bytes. Texts are in quotes only if one holds any.

    `blocks` lie below each other: dicts of names to columns, arrays of numbers or sequences of str.
    """
    from isal import igzip

    try:
        from pyarrow import ArrowInvalid
    except ModuleNotFoundError:
        with path.open("wb") as raw, igzip.IGzipFile("", "wb", fileobj=raw, mtime=0) as file:
            file.writelines(_plain_lines(blocks))
        return
    try:
        _write_csv(path, blocks, "none")
    except ArrowInvalid:
        _write_csv(path, blocks, "needed")


def _write_csv(path: Path, blocks: Sequence[dict[str, Any]], quoting: str) -> None:
    import pyarrow as pa
    import pyarrow.csv
    from isal import igzip

    def column(values: Any) -> Any:
        return pa.array(values) if _is_number(values) else pa.array(values, pa.string())

    table = pa.concat_tables(
        [pa.table({name: column(values) for name, values in block.items()}) for block in blocks]
    )
    options = pyarrow.csv.WriteOptions(
        delimiter="\t", quoting_style=quoting, quoting_header=quoting, batch_size=_PEOPLE_AT_A_TIME
    )
    with path.open("wb") as raw, igzip.IGzipFile("", "wb", fileobj=raw, mtime=0) as file:
        pyarrow.csv.write_csv(table, file, options)


def _plain_lines(blocks: Sequence[dict[str, Any]]) -> Iterator[bytes]:
    """Yield the lines that pyarrow writes, as bytes."""
    texts = [list(blocks[0])]
    texts += [values for block in blocks for values in block.values() if not _is_number(values)]
    has_odd = any(_ODD.search(text) for column in texts for text in column)

    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if has_odd else text

    yield ("\t".join(map(quoted, blocks[0])) + "\n").encode()
    for block in blocks:
        cells = [
            map(_plain_number if _is_number(values) else quoted, np.asarray(values).tolist())
            for values in block.values()
        ]
        for line in zip(*cells, strict=True):
            yield ("\t".join(line) + "\n").encode()


def _is_number(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype != object


def _plain_number(number: float) -> str:
    """Write a number with the fewest digits, as pyarrow does."""
    if isinstance(number, int) or number == 0 or 1e-4 <= abs(number) < 1e10 or not math.isfinite(number):
        return repr(number).removesuffix(".0")
    if 1e-6 <= abs(number) < 1e-4:
        return np.format_float_positional(number, trim="-")
    return np.format_float_scientific(number, trim="-", exp_digits=1)
