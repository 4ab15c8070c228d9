"""What holds of every check: it reads the keys that it declares, and no file is read for two of them."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property
from operator import attrgetter
from pathlib import Path

import pytest

from dpgrs.config.schema import keys
from dpgrs.config.setting import Section
from dpgrs.errors import UsageError
from dpgrs.preflight import inspection, ledger, tables
from dpgrs.preflight.checks import CHECKS, check, problems
from dpgrs.preflight.inspection import Inspection
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.study.settings import resolve
from ledger_requests import DATASET, new_ledger
from plink_sets import write_bed, write_pgen
from release_studies import APPROVAL, CURATION
from vcf_files import record, vcf_text, write_text

CROWD = tuple(f"HG{number:05}" for number in range(96, 108))
PUBLIC = tuple(f"NA{number}" for number in range(12878, 12890))
ALL = tuple(keys())
KNOWN = {name: fact.func for name, fact in vars(Inspection).items() if isinstance(fact, cached_property)}
FACTS = {name: find.reads for name, find in KNOWN.items() if hasattr(find, "reads")}
DECLARED = FACTS | {one: one.reads for one in CHECKS}
VCF = {"source": "vcf", "vcf": "c{chrom}.vcf", "chromosomes": [1, 2], "rows": "people"}
COHORT = VCF | {"populations": "pop.tsv"}
PEOPLE = {"remove": "remove.txt", "consent": {"file": "consent.tsv", "allow": ["1"]}}
TABLES = {
    "people": PEOPLE,
    "outcomes": {"source": "file", "file": "y.tsv", "scales": "y_scales.tsv"},
    "covariates": {"file": "x.tsv", "scales": "x_scales.tsv", "pcs": 1},
    "privacy": {"bounds": "tight"},
    "methods": ["blup"],
}
RELEASE = TABLES | {
    "mode": "release",
    "cohort": COHORT,
    "dataset": DATASET | APPROVAL | {"version": "1"},
    "privacy": {"bounds": "tight", "ledger": "cohort.jsonl", "budget": 2, "epsilon": 1},
    "public": {"reference": "r{chrom}.vcf", "origin": "x"},
    "variants": {"size": 10},
    "evaluation": {"metrics": "public", "outcomes": "yr.tsv", "covariates": "xr.tsv"},
    "release": CURATION | {"genome_build": "GRCh37"},
}
RELEASE["outcomes"] = TABLES["outcomes"] | {"traits": "traits.tsv"}
PLINK = {"source": "plink", "plink": "a.bed", "chromosomes": [1], "rows": "people"}
PUBLIC_SIDES = {
    "outcomes": {"sha256": "0" * 64, "origin": "dbGaP"},
    "genotypes": {"sha256": ["0" * 64], "origin": "a register"},
}
CHARGED = {"metrics": "charged", "epsilon": 0.5}
STUDIES = {
    "demo": {},
    "open": TABLES | {"cohort": COHORT},
    "adjusted": TABLES | {"cohort": COHORT, "covariates": TABLES["covariates"] | {"first": True}},
    "unused": {"covariates": {"columns": ["age"]}},
    "dosages": {"cohort": PLINK | {"field": "DS"}, "release": {"genome_build": "GRCh37"}},
    "table": {
        "cohort": {"source": "table", "table": "t.tsv", "ranges": "t_ranges.tsv", "id": "sample"},
        "outcomes": {"source": "table", "columns": ["height"], "scales": "y_scales.tsv"},
        "methods": ["blup"],
    },
    "fetched": {"cohort": VCF | {"vcf": "downloads/{chrom}.vcf", "fetch": {"vcf": "http://x.org/{chrom}"}}},
    "screened": {"methods": ["k-tukey", "l-blup"]},
    "network": {"outcomes": {"network": 4}},
    "copied": {"cohort": PLINK | {"copies": {"people": 50, "map": "{chrom}.map"}}},
    "paper": {"methods": ["reusecov-gauss"], "privacy": {"bounds": "paper"}},
    "public LD": {
        "cohort": VCF,
        "methods": ["blup-ld"],
        "privacy": {"bounds": "tight"},
        "public": {"reference": "r{chrom}.vcf", "keep": "kept.txt", "origin": "x"},
    },
    "components": TABLES
    | {
        "methods": ["ridge", "bas"],
        "outcomes": TABLES["outcomes"] | {"loadings": "y_loadings.tsv", "missing": "counted"},
        "privacy": {"bounds": "tight", "protection": "label", "outcome_budget": "separate"},
    },
    "public LD, simulated": {"methods": ["blup-ld"], "public": {"reference": "r{chrom}.vcf", "origin": "x"}},
    "public effects": {
        "methods": ["blup"],
        "privacy": {"protection": "full"},
        "public": {"effects": ["score.txt"]},
    },
    "public scores that are subtracted": {
        **{"methods": ["blup-genome"], "cohort": {"rows": "people", "planned_people": 100}},
        "public": {"effects": ["simulated_0001.txt"], "subtract": ["simulated_0001"]},
    },
    "public scores that are subtracted from a table": {
        **{"methods": ["blup-genome"], "cohort": {"rows": "people", "planned_people": 100}},
        "outcomes": {"source": "file", "file": "y.tsv", "count": None},
        "public": {"effects": ["height.txt"], "subtract": ["height"]},
    },
    "scored": {
        "score": {
            **{"target": "c{chrom}.vcf", "release": "score.txt", "reference": "r{chrom}.vcf"},
            **{"populations": "pop.tsv", "frequencies": "sites.tsv"},
        },
        "cohort": {"chromosomes": [1, 2]},
    },
    "scored by its own": {"score": {"target": "c1.vcf", "weights_of": "gblup"}},
    "release": RELEASE | {"score": {"target": "c1.vcf"}},
    "sites": RELEASE
    | {"public": {"sites": "sites.tsv", "origin": "x"}, "variants": {"size": 1, "missing": 0.1}},
    "phased": RELEASE
    | {"cohort": PLINK | {"plink": "b", "rows": "haplotypes"}, "public": {"reference": "b.pgen"}},
    "centre": RELEASE | {"cohort": VCF | {"part": True}},
    "coordinator": RELEASE | {"cohort": {"source": "vcf", "sums": "sums.npz"}},
    "charged": RELEASE | {"cohort": {}, "outcomes": {"count": 3, "test_share": 0.2}, "evaluation": CHARGED},
    **{
        f"{protection}, {cohort['source']}": RELEASE
        | {
            "cohort": cohort,
            "privacy": RELEASE["privacy"] | {"protection": protection, "neighbours": "replace-one"},
            "public": RELEASE["public"] | PUBLIC_SIDES,
            "outcomes": RELEASE["outcomes"] | {"test_share": 0.1},
        }
        for protection in ("feature", "label")
        for cohort in (VCF, PLINK)
    },
    "composed": {
        "mode": "release",
        "methods": ["k-blup"],
        "outcomes": {"count": 3},
        "privacy": {"ledger": "cohort.jsonl", "budget": 2, "outcome_budget": "separate", "case_share": 0.1},
        "screening": {"law": "gumbel", "composition": "zcdp"},
    },
}


class Recorded:
    """Settings, or a section of them, that note the dotted keys of the values that are read."""

    def __init__(self, section, read, prefix=""):
        self._section, self._read, self._prefix = section, read, prefix

    def __getattr__(self, name):
        derived = getattr(type(self._section), name, None)
        if isinstance(derived, property):
            return derived.fget(self)
        value, key = getattr(self._section, name), f"{self._prefix}{name.removesuffix('_')}"
        if isinstance(value, Section):
            return Recorded(value, self._read, f"{key}.")
        self._read.add(key)
        return value

    def value(self, key):
        self._read.add(key)
        return self._section.value(key)

    def changed(self, **changes):
        return Recorded(self._section.changed(**changes), self._read, self._prefix)

    def as_dict(self):
        return RecordedDict(self._section.as_dict(), self._read, self._prefix)


class RecordedDict(Mapping):
    """The values of a section, which note the dotted keys of those that are read."""

    def __init__(self, values, read, prefix):
        self._values, self._read, self._prefix = values, read, prefix

    def __getitem__(self, name):
        self._read.add(f"{self._prefix}{name}")
        return self._values[name]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)


def write_table(path, ids, **columns):
    rows = ([name, *(column[row] for column in columns.values())] for row, name in enumerate(ids))
    lines = [["sample", *columns], *rows]
    Path(path).write_text("\n".join("\t".join(map(str, line)) for line in lines) + "\n")


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory):
    """Work in a folder with all files of the studies."""
    folder = tmp_path_factory.mktemp("studies")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_files(folder)
        yield


def write_files(folder):
    for chromosome in ("1", "2"):
        for prefix, people in (("c", CROWD), ("r", PUBLIC)):
            calls = record(5, " ".join(["0|1"] * len(people)), contig=chromosome)
            write_text(Path(f"{prefix}{chromosome}.vcf"), vcf_text(calls, samples=people, contigs=chromosome))
    write_bed(folder / "a")
    write_pgen(folder / "b")
    for prefix, people in (("", CROWD), ("r", PUBLIC)):
        write_table(f"y{prefix}.tsv", people, height=[165, 175] * 6)
        write_table(f"x{prefix}.tsv", people, age=[40, 50] * 6)
    write_table("t.tsv", CROWD, length=[1, 2] * 6, height=[165, 175] * 6)
    Path("t_ranges.tsv").write_text("column\tlow\thigh\nlength\t0\t3\n")
    Path("y_scales.tsv").write_text("outcome\tcentre\tscale\nheight\t170\t5\n")
    Path("y_loadings.tsv").write_text("outcome\torigin\tfactor\nheight\tx\t0.5\n")
    Path("traits.tsv").write_text("outcome\tefo_id\nheight\tOBA_VT0001253\n")
    Path("x_scales.tsv").write_text("covariate\tcentre\tscale\nage\t45\t5\n")
    write_table("pop.tsv", CROWD, pop=["GBR"] * 12)
    write_table("consent.tsv", CROWD, consent=["1"] * 12)
    Path("kept.txt").write_text("".join(f"{person}\n" for person in PUBLIC))
    Path("remove.txt").write_text(f"{CROWD[0]}\n")
    Path("sites.tsv").write_text("contig\tposition\tref\talt\tfrequency\n1\t5\tA\tC\t0.2\n")
    new_ledger(folder)


def reads_of(look, study, config):
    """Return the keys that a function of an Inspection reads beside what is worked out once for all."""
    read = set()
    study.config = Recorded(config, read)
    look(study)
    return read


@pytest.fixture(scope="module")
def reads():
    """Map every check, and the name of every fact, to the keys that it reads in any study."""
    found = defaultdict(set)
    for config in map(resolve, STUDIES.values()):
        study = Inspection(config)
        for name in KNOWN:
            getattr(study, name)
        for one in CHECKS:
            if one.mode in ("", study.mode) and one.reads != ALL:
                found[one] |= reads_of(one.find, study, config)
        for name in FACTS:
            delattr(study, name)
            found[name] |= reads_of(attrgetter(name), study, config)
    return found


def is_within(key, section):
    return f"{key}.".startswith(f"{section}.")


def test_checks__declare_keys_of_the_configuration():
    declared = {key for one in CHECKS for key in one.reads}
    assert [key for key in declared if not any(is_within(known, key) for known in keys())] == []


def test_checks__read_no_other_keys(reads):
    other = [
        f"{one}: {key}"
        for one, found in reads.items()
        for key in found
        if not any(is_within(key, section) for section in DECLARED[one])
    ]
    assert other == []


def test_checks__read_all_that_they_declare(reads):
    """What a check does not need would keep it from running for nothing."""
    by_facts = {key for found in FACTS.values() for key in found}
    unread = [
        f"{one}: {section}"
        for one, found in reads.items()
        for section in {*DECLARED[one]} - by_facts
        if not any(is_within(key, section) for key in found)
    ]
    assert unread == []


@pytest.mark.parametrize("name", ["open", "release"])
def test_problems__files_are_read_once(monkeypatch, name):
    read = Counter()

    def counted(place, reader, label):
        whole = getattr(place, reader)

        def count(first, *others, **options):
            read[label, str(getattr(first, "path", first))] += 1
            return whole(first, *others, **options)

        monkeypatch.setattr(place, reader, count)

    counted(inspection, "genotype_header", "header")
    counted(inspection, "outcome_names", "names")
    counted(inspection, "files_to_fetch", "fetched")
    counted(tables, "outcome_chunks", "table")
    counted(tables, "read_populations", "table")
    counted(Ledger, "read", "ledger")
    problems(resolve(STUDIES[name]))
    assert set(read.values()) == {1}, read
    n_tables, n_sets = (5, 2) if name == "release" else (3, 1)
    labels = Counter(label for label, _ in read)
    assert (labels["header"], labels["table"]) == (2 * n_sets, n_tables)


@pytest.mark.parametrize("evaluation", [{}, CHARGED])
def test_problems__of_a_release_whose_loadings_cannot_be_read(evaluation):
    outcomes = {"count": 3, "test_share": 0.2, "loadings": "none.tsv"}
    config = resolve(STUDIES["charged"] | {"outcomes": outcomes, "evaluation": evaluation})
    line = "`outcomes.loadings`: `none.tsv` must be a table, but is not there. Correct the path."
    assert line in problems(config)
    study = Inspection(config)
    assert ledger.cost_problems(study) == ledger.budget_problems(study) == []


def test_check__of_a_key_in_doubt_does_not_run():
    raw = STUDIES["fetched"]["cohort"] | {"vcf": ["a", "b"]}
    with pytest.raises(UsageError, match=r"^`cohort.vcf` must be [^\n]*$"):
        check({"cohort": raw})
