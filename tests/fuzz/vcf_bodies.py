"""Inputs of the VCF fuzzer: four bytes of options and the records, how they begin, and how they are changed.

An input is the text itself, so that a find can be read. The changes know the grammar of records and mix with
libFuzzer's noise of bytes.
"""

import itertools
import random
from typing import NamedTuple

from vcf_files import record

N_OPTION_BYTES = 4
HEADER = b"##fileformat=VCFv4.2\n"
# About the limits of the packed words (64 alleles) and of the vectors that look for newlines (64 bytes).
N_SAMPLES = (3, 1, 2, 31, 32, 33)
BLOCK_BYTES = (2**21, 1, 7, 50)
N_ROWS = (100, 1, 2, 4)

_CALLS = [b"0|0", b"0|1", b"1|0", b"1|1"]
_DOTS = [b".|.", b".|1", b"0|."]
_FORMS = b"0/0 0/1 1/0 1/1 ./. ./1 0/. . 0 1 2 2|0 1|2 10|1 0|11 01|1 0001|0 00001|0 1000|0 12|3".split()
_FORMS += b"|0|1 /0/1 /0|1 |0/1 |1 /. |.|1".split()
_BROKEN = b"0|0|1,0/1|0,x,,0|,||0,/|0,0|1 ,0:1,0|1:,0|1:7:8:9,0\\1,-1|0,99999|0,65537|0,4294967297|0".split(
    b","
)
_BROKEN += b"0|1:\xc3\xa9,0|1:\xff,0|\x000,0|1:::,0|1:.".split(b",")
_CONTIGS = b"1,2,12,chr1,chr,,#1,\xff,1 ".split(b",")
_POSITIONS = b"7,007,0,2147483647,2147483648,x,,12345678901,0000000005,00000000005".split(b",")
_POSITIONS += [
    b"\xff",
    b"5\r",
    b"5\x1b[2J",
    b"9" * 5000,
    b"0" * 5000 + b"5",
    *(text.encode() for text in ("٣", "²", "5\u2028")),
]
_IDS = b".,rs1,Zo\xc3\xab,,\xff\xfe,a\rb,\xe2\x82".split(b",")
_REFS = [*b"A,ACGT,N,a,-,,A1,@,[,`,{,z,Z,\xc3,a\x1b[2J".split(b","), b"A" * 70, b"A" * 3000 + b"-"]
_ALTS = b"C CAT C,G <DEL> * . G,<CN0>,T C, ,C 7 A[1:5[ .A A. <> C,C \xff C\r".split(b" ")
_ALTS += [b"", b",".join([b"A"] * 12), b",".join([b"C"] * 1001), b"C" * 700 + b"7"]
_QUALITIES = b".,50,,high".split(b",")
_FILTERS = b"PASS,.,q10,PAS,PASSED,,PASS;q10,pass,..".split(b",")
_INFOS = [b".", b"", b"AC=1;AN=2", b"x" * 200, b"\xff", b"PR", b"AC=1;PR;AN=2", b"PR=1", b"PRX;XPR;;PR"]
_FORMATS = b"GT,GT:DP,GT:AD:PL,DP:GT,DP,GT:GT,GT:,:GT,,GTX,GT:D P,G,gt,GT:DP:DP,GT:9,GT:\xff".split(b",")
_FORMATS += b"GT:GQ:_a.b,GT:PS,PS:GT:DP,GT:GT:DP".split(b",")
_FORMATS += b"GT:DS,DS:GT,DS,GT:DP:DS,DS:DS,GT:DS:DS,GT:DSX,GT:ds,DS:".split(b",")
_TOKENS = [_CONTIGS, _POSITIONS, _IDS, _REFS, _ALTS, _QUALITIES, _FILTERS, _INFOS, _FORMATS]
_ENDS = [b"\n"] * 6 + [b"\r\n", b"\r\r\n", b"\n\n", b"\t\n", b"\n#note\n", b"\n##\r\n", b"\r", b""]
_DOSAGE_FORMATS = b"GT:DS,DS:GT,DS,GT:DP:DS,DS:GT:GP,DP:DS".split(b",")
_DECIMALS = b"0,1,2,0.5,1.25,0.003,1.999,2.000".split(b",")
_DECIMAL_DOTS = b".,0.5,1.,.5,0.".split(b",")
_EXPONENTS = b"1e-1,5E-1,1e-05,2e0,1E+0,1.e0,.2E01,0e999,1e-999".split(b",")
# Compiled code takes up to nine digits, and plain code up to thirty; some lie halfway between two steps.
_LONG_DECIMALS = b"0.12345678,0.123456789,1.999999999,000000002,0000000002,0.000122070".split(b",")
_LONG_DECIMALS += b"0.0001220703125,0.0003662109375,0.00012207031249999999,1.9998779296875".split(b",")
_LONG_DECIMALS += [b"0" * 29 + b"1", b"1." + b"0" * 30, b"." + b"0" * 29 + b"1", b"2." + b"0" * 20 + b"1"]
_NO_DOSAGES = b"2.01,2.000000001,-0.1,-0,+1,nan,inf,1.2.3,..,0x1,1_0,1 , 1,1/2,1;2,0:1,1|0,".split(b",")
_NO_DOSAGES += b"3e0,1e400,1e,1e+,e1,.e1,1e1000,1e-1000,999999999,9999999999,18446744073709551616".split(b",")
_NO_DOSAGES += [b"\xff", b"\x00", b"5\r", "٣".encode(), b"9" * 5000, b"0" * 30 + b"1", b"1." + b"0" * 31]
_DOSAGES = [_DECIMALS, _DECIMALS, _DECIMAL_DOTS, _EXPONENTS, _LONG_DECIMALS]
_SUBFIELDS = [b":3", b":.", b":1,2", b":a:b", b":", b"::", b":\x7f", b":\x80", b":\x00", b": ", b":0.5"]


class Case(NamedTuple):
    """What is read, and how."""

    text: bytes
    is_phase_required: bool
    is_filter_kept: bool
    is_known_ref: bool
    is_indexed: bool
    field: str
    n_samples: int
    n_bytes: int
    n_rows: int


def case_of(data):
    """Return the case that an input of the fuzzer stands for."""
    flags, samples, size, rows = data[:N_OPTION_BYTES].ljust(N_OPTION_BYTES, b"\0")
    field = "DS" if flags & 8 else "GT"
    return Case(
        HEADER + data[N_OPTION_BYTES:],
        is_phase_required=field == "GT" and not flags & 1,
        is_filter_kept=bool(flags & 2),
        is_known_ref=bool(flags & 16),
        is_indexed=bool(flags & 4),
        field=field,
        n_samples=N_SAMPLES[samples % len(N_SAMPLES)],
        n_bytes=BLOCK_BYTES[size % len(BLOCK_BYTES)],
        n_rows=N_ROWS[rows % len(N_ROWS)],
    )


def seeds():
    """Yield inputs to begin with: files of all options, forms of calls and kinds of columns."""
    rng = random.Random(0)
    for flags, samples in itertools.product(range(8), range(len(N_SAMPLES))):
        options = bytes([flags, samples, rng.randrange(256), rng.randrange(256)])
        for calls in (_CALLS, _CALLS + _DOTS, _CALLS + _FORMS):
            drawn = [_drawn_calls(rng, calls, N_SAMPLES[samples]) for _ in range(4)]
            lines = [record(5 + i, row.decode(), id_=f"rs{i}").encode() for i, row in enumerate(drawn)]
            yield options + b"".join(lines)
        columns = [
            _record(rng, N_SAMPLES[samples], **{f"column_{place}": token})
            for place, tokens in enumerate(_TOKENS)
            for token in rng.sample(tokens, 1)
        ]
        yield options + b"".join(columns[:5])
        yield options + b"".join(columns[5:])
    for flags, samples in itertools.product(range(8, 16, 2), range(len(N_SAMPLES))):
        options = bytes([flags, samples, rng.randrange(256), rng.randrange(256)])
        for values in _DOSAGES:
            lines = [_dosage_record(rng, N_SAMPLES[samples], values, keys) for keys in _DOSAGE_FORMATS]
            yield options + b"".join(lines[:3])
            yield options + b"".join(lines[3:])


def mutate(data, max_size, seed, *, noise):
    """Return an input with one to four changes.

    Parameters
    ----------
    data : bytes, an input.
    max_size : int, bytes of the longest input.
    seed : int, that the changes hang on.
    noise : function of (bytes, max_size) that changes bytes blindly.
    """
    rng = random.Random(seed)
    options, body = data[:N_OPTION_BYTES].ljust(N_OPTION_BYTES, b"\0"), data[N_OPTION_BYTES:]
    for _ in range(rng.randint(1, 4)):
        chance = rng.random()
        if chance < 0.15:
            body = noise(body, max_size - N_OPTION_BYTES)
        elif chance < 0.25:
            place = rng.randrange(N_OPTION_BYTES)
            options = options[:place] + bytes([rng.randrange(256)]) + options[place + 1 :]
        else:
            body = _changed_body(rng, body, case_of(options).n_samples)
    return (options + body)[:max_size]


def cross(first, second, max_size, seed):
    """Return the options of one input with lines of both."""
    rng = random.Random(seed)
    lines = [data[N_OPTION_BYTES:].splitlines(keepends=True) for data in (first, second)]
    cuts = [rng.randint(0, len(part)) for part in lines]
    mixed = lines[0][: cuts[0]] + lines[1][cuts[1] :]
    return (first[:N_OPTION_BYTES] + b"".join(mixed))[:max_size]


def _changed_body(rng, body, n_samples):
    lines = body.split(b"\n")
    at = rng.randrange(len(lines))
    changes = [_column, _call, _dosage, _line] * 2 + [_subfields, _end, _cut]
    change = rng.choice(changes)
    lines[at] = change(rng, lines[at], n_samples)
    if rng.random() < 0.1:
        del lines[at]
    elif rng.random() < 0.1:
        lines.insert(rng.randint(0, len(lines)), lines[at])
    return b"\n".join(lines)


def _column(rng, line, _):
    """Put a token into one of the fixed columns."""
    columns = line.split(b"\t")
    place = rng.randrange(min(len(columns), len(_TOKENS)))
    columns[place] = rng.choice(_TOKENS[place])
    return b"\t".join(columns)


def _call(rng, line, _):
    """Put another call into one of the sample columns."""
    columns = line.split(b"\t")
    places = [*range(len(_TOKENS), len(columns))] * rng.randrange(2)
    place = rng.choice([*places, -1])
    call = rng.choice(rng.choice([_CALLS, _DOTS, _FORMS, _FORMS, _BROKEN, _BROKEN]))
    columns[place] = call + columns[place][len(call) :] * rng.randrange(2)
    return b"\t".join(columns)


def _dosage(rng, line, _):
    """Put dosages into one of the sample columns, or all, now and then too few or too many."""
    columns = line.split(b"\t")
    if len(columns) <= len(_TOKENS):
        return line
    keys, n_alts = columns[len(_TOKENS) - 1].split(b":"), columns[4].count(b",") + 1
    place = keys.index(b"DS") if b"DS" in keys else rng.randrange(len(keys))
    values, n = rng.choice([*_DOSAGES, _NO_DOSAGES]), n_alts + rng.choice([0] * 10 + [1, -1])
    samples = [*range(len(_TOKENS), len(columns))]
    for sample in samples if rng.random() < 0.3 else [rng.choice(samples)]:
        fields = columns[sample].split(b":")
        fields[place : place + 1] = [_drawn_dosages(rng, values, n)]
        columns[sample] = b":".join(fields)
    return b"\t".join(columns)


def _subfields(rng, line, _):
    """Give FORMAT, and all calls or some, further fields."""
    columns = line.split(b"\t")
    columns[len(_TOKENS) - 1 : len(_TOKENS)] = [rng.choice(_TOKENS[-1])]
    share, some = rng.choice([0, 0.5, 1]), rng.choice(_SUBFIELDS)
    for place in range(len(_TOKENS), len(columns)):
        if rng.random() <= share:
            columns[place] += some
    return b"\t".join(columns)


def _end(rng, line, _):
    """End the line in another way; the newline after it is there already."""
    return line.rstrip(b"\r") + rng.choice(_ENDS).removesuffix(b"\n")


def _cut(rng, line, _):
    """Take a column away, double it, or cut the line short."""
    if rng.random() < 0.4:
        return line[: -rng.randint(1, 5)]
    columns = line.split(b"\t")
    place = rng.randrange(len(columns))
    columns[place : place + 1] = [columns[place]] * rng.choice([0, 2])
    return b"\t".join(columns)


def _line(rng, line, n_samples):
    """Put a new record before the line."""
    if rng.random() < 0.3:
        return _dosage_record(rng, n_samples, rng.choice(_DOSAGES), rng.choice(_DOSAGE_FORMATS)) + line
    return _record(rng, n_samples) + line


def _record(rng, n_samples, **columns):
    """Return a record, mostly of the common form, else with tokens in some columns."""
    fixed = [tokens[0] for tokens in _TOKENS]
    for place in rng.sample(range(len(fixed)), rng.choice([0, 0, 1, 2])):
        fixed[place] = rng.choice(_TOKENS[place])
    for name, token in columns.items():
        fixed[int(name.removeprefix("column_"))] = token
    calls = rng.choice([_CALLS, _CALLS + _DOTS, _CALLS + _FORMS])
    return b"\t".join([*fixed, *_drawn_calls(rng, calls, n_samples).split(b" ")]) + b"\n"


def _dosage_record(rng, n_samples, values, format_):
    """Return a record with dosages of one ALT or more; trailing fields may be left out."""
    alt = rng.choice([b"C", b"C", b"C,G", b"G,<DEL>,T"])
    is_whole = rng.random() < 0.5
    columns = [tokens[0] for tokens in _TOKENS[:4]] + [alt, b".", b"PASS", b".", format_]
    for _ in range(n_samples):
        fields = dict.fromkeys(format_.split(b":"), b"3")
        fields |= {b"GT": rng.choice(_CALLS), b"DS": _drawn_dosages(rng, values, alt.count(b",") + 1)}
        kept = [fields[key] for key in format_.split(b":")]
        columns.append(b":".join(kept if is_whole else kept[: rng.randint(1, len(kept))]))
    return b"\t".join(columns) + b"\n"


def _drawn_dosages(rng, values, n_alts):
    """Return a number for each ALT, or now and then one dot for all."""
    return b"." if rng.random() < 0.1 else b",".join(rng.choices(values, k=n_alts))


def _drawn_calls(rng, calls, n):
    return b" ".join(rng.choices(calls, k=n))
