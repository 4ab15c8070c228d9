"""A small cohort with tables, and its neighbours by seed: one person there or not, or with other data."""

from dataclasses import dataclass, replace

import numpy as np

from allele_orders import write_cohort
from vcf_files import record, vcf_text

N_PEOPLE, N_SITES, CHROMOSOME = 60, 8, "21"
FREQUENCY = np.array([0.3, 0.45, 0.02, 0.2, 0.35, 0.1, 0.25, 0.4])
RARE = int(FREQUENCY.argmin())
OUTCOMES, COVARIATES = ("height", "weight", "case"), ("age", "sex")
MISSING = -1
GENOTYPES = ("REF", "ALT", "heterozygous", "missing", "half missing", "rare", "random")
VALUES = {
    "missing": lambda rng, n: ["NA"] * n,
    "zero": lambda rng, n: ["0"] * n,
    "huge": lambda rng, n: [one_of(rng, ("-1e9", "1e9"))] * n,
    "tiny": lambda rng, n: ["1e-300"] * n,
    "at the bound": lambda rng, n: [one_of(rng, ("3", "-3")) for _ in range(n)],
    "one known": lambda rng, n: [*["NA"] * (n - 1), f"{rng.normal():.6f}"][:: one_of(rng, (-1, 1))],
    "random": lambda rng, n: [f"{value:.6f}" for value in rng.normal(size=n)],
}
IDS = ("!first", "zzlast", "0042", "x" * 60, "Åsa", "p0999")


@dataclass(frozen=True)
class Cohort:
    """People in the order of the genotype file.

    Attributes
    ----------
    ids : tuple of str.
    calls : (n_sites, n_people, 2) int, 0 for REF, 1 for ALT, `MISSING`.
    rows : dict of id to the cells of the tables, those of `OUTCOMES` and then of `COVARIATES`.
    hides_empty_sites : bool, whether sites without an ALT allele have no record in the genotype file.
    form : str, `vcf`, or `bed`, `pgen` or `bgen`: then all sites are there, and these people decide which
        allele comes first, as PLINK 1 has it; a `bgen` or `pgen` has dosages.
    """

    ids: tuple
    calls: np.ndarray
    rows: dict
    hides_empty_sites: bool = False
    form: str = "vcf"

    def write(self, folder):
        """Write genotypes and tables."""
        (folder / "cohort").mkdir(parents=True)
        if self.form == "vcf":
            self._write_vcf(folder / "cohort" / f"{CHROMOSOME}.vcf")
        else:
            path = folder / "cohort" / f"{CHROMOSOME}.{self.form}"
            sites = {"positions": [position(site) for site in range(N_SITES)], "contig": CHROMOSOME}
            write_cohort(path, self.copies(), ids=self.ids, **sites)
        for name, columns, part in (
            ("outcomes", OUTCOMES, slice(len(OUTCOMES))),
            ("covariates", COVARIATES, slice(len(OUTCOMES), None)),
        ):
            lines = ["\t".join(["sample", *columns])]
            lines += ["\t".join([one, *cells[part]]) for one, cells in self.rows.items()]
            (folder / "cohort" / f"{name}.tsv").write_text("\n".join(lines) + "\n")

    def copies(self):
        """Return the (n_sites, n_people) copies of ALT, NaN of calls that are not whole.

        Dosages are a little less certain, each person's by calls and id alone.
        """
        copies = np.where((self.calls < 0).any(axis=2), np.nan, self.calls.sum(axis=2))
        if self.form == "bed":
            return copies
        doubts = [np.random.default_rng([*name.encode()]).random(N_SITES) for name in self.ids]
        return copies + (1 - copies) * 0.2 * np.transpose(doubts)

    def _write_vcf(self, path):
        """Write a VCF. As callers do, FILTER, QUAL and INFO are of everybody's calls."""
        records = []
        for site, calls in enumerate(self.calls):
            n_alt = int((calls == 1).sum())
            if n_alt or not self.hides_empty_sites:
                text = " ".join("|".join(".01"[allele + 1] for allele in call) for call in calls)
                about = {"filter_": ["PASS", "q10"][n_alt % 2], "info": f"AC={n_alt};AN={(calls >= 0).sum()}"}
                records.append(record(position(site), text, contig=CHROMOSOME, **about))
        text = vcf_text(*records, samples=self.ids, contigs=[CHROMOSOME])
        filters = '##FILTER=<ID=q10,Description="x">\n' + "".join(
            f'##INFO=<ID={name},Number=1,Type=Integer,Description="x">\n' for name in ("AC", "AN")
        )
        text = text.replace("length=1000000", "length=46709983").replace("##contig", f"{filters}##contig", 1)
        path.write_text(text)


def one_of(rng, options):
    """Choose one of some options."""
    return options[rng.integers(len(options))]


def position(site):
    return 20_000_000 + 5_000 * site


def base_cohort(seed, *, prefix="p", n_people=N_PEOPLE):
    """Make a cohort whose rarest allele one person carries."""
    rng = np.random.default_rng([seed, n_people])
    calls = (rng.random((N_SITES, n_people, 2)) < FREQUENCY[:, np.newaxis, np.newaxis]).astype(int)
    calls[RARE] = 0
    calls[rng.random(calls.shape) < 0.02] = MISSING
    calls[RARE, n_people // 3, 0] = 1
    effects = rng.normal(size=(len(OUTCOMES), N_SITES))
    scores = effects @ (np.clip(calls, 0, 1).sum(axis=2) - 2 * FREQUENCY[:, np.newaxis])
    Y = 0.6 * scores / scores.std(axis=1, keepdims=True) + 0.8 * rng.normal(size=scores.shape)
    cells = [[f"{value:.6f}" for value in row] for row in Y]
    cells[-1] = [str(int(value > 0)) for value in Y[-1]]
    cells += [[str(age) for age in rng.integers(20, 80, n_people)]]
    cells += [[str(sex) for sex in rng.integers(0, 2, n_people)]]
    ids = tuple(f"{prefix}{number:04d}" for number in rng.permutation(n_people))
    return Cohort(ids, calls, dict(zip(ids, map(list, zip(*cells, strict=True)), strict=True)))


def neighbour(cohort, rng, *, relation, protection="full"):
    """Return a neighbouring cohort and what it is, in words.

    Parameters
    ----------
    cohort : Cohort
    rng : numpy Generator
    relation : `add-remove` or `replace-one`.
    protection : `full`, `feature` (outcomes stay) or `label` (genotypes stay).
    """
    carrier = int(np.flatnonzero((cohort.calls[RARE] == 1).any(axis=1))[0])
    person = one_of(rng, (carrier, *rng.integers(len(cohort.ids), size=3).tolist()))
    if relation == "add-remove":
        cohort = replace(cohort, hides_empty_sites=one_of(rng, (True, False)))
        if one_of(rng, (True, False, False)):
            return _without(cohort, person, keeps_row=one_of(rng, (True, False))), f"without person {person}"
        place, identity = one_of(rng, (0, len(cohort.ids))), one_of(rng, IDS)
        calls, cells, words = _person(rng)
        ids = (*cohort.ids[:place], identity, *cohort.ids[place:])
        rows = dict(sorted({**cohort.rows, identity: cells}.items(), key=lambda row: rng.random()))
        return replace(
            cohort, ids=ids, calls=np.insert(cohort.calls, place, calls, axis=1), rows=rows
        ), f"{identity} at {place}: {words}"
    calls, cells, words = _person(rng)
    changed, rows = cohort.calls.copy(), dict(cohort.rows)
    if protection != "label":
        changed[:, person] = calls
    if protection != "feature":
        rows[cohort.ids[person]] = cells
    return replace(cohort, calls=changed, rows=rows), f"person {person}: {words}"


def _without(cohort, person, *, keeps_row):
    rows = {one: cells for one, cells in cohort.rows.items() if keeps_row or one != cohort.ids[person]}
    ids = (*cohort.ids[:person], *cohort.ids[person + 1 :])
    return replace(cohort, ids=ids, calls=np.delete(cohort.calls, person, axis=1), rows=rows)


def _person(rng):
    """Return the calls and cells of a person, and what they are."""
    genotypes, values = one_of(rng, GENOTYPES), one_of(rng, tuple(VALUES))
    calls = (rng.random((N_SITES, 2)) < FREQUENCY[:, np.newaxis]).astype(int)
    if genotypes != "random":
        calls[:] = {
            "REF": (0, 0),
            "ALT": (1, 1),
            "heterozygous": (0, 1),
            "missing": (MISSING, MISSING),
            "half missing": (MISSING, 1),
            "rare": (0, 0),
        }[genotypes]
    if genotypes == "rare":
        calls[FREQUENCY < 0.15] = 1
    cells = [*VALUES[values](rng, len(OUTCOMES) - 1), one_of(rng, ("0", "1", "NA"))]
    covariates = [one_of(rng, ("NA", "0", "1e9", "45")), one_of(rng, ("0", "1", "NA"))]
    return calls, cells + covariates, f"{genotypes} genotypes, {values} outcomes"


def write_public(folder, *, n_reference):
    """Write what is public: sites, constants, loadings, and a reference of people with its tables."""
    lines = [
        f"{CHROMOSOME}\t{position(site)}\tA\tC\t{frequency:g}" for site, frequency in enumerate(FREQUENCY)
    ]
    (folder / "sites.tsv").write_text("\n".join(["contig\tposition\tref\talt\tfrequency", *lines]) + "\n")
    scales = ["height\t0\t1\tNA", "weight\t0\t1\tNA", "case\tNA\tNA\t0.5"]
    (folder / "scales.tsv").write_text("\n".join(["outcome\tcentre\tscale\tprevalence", *scales]) + "\n")
    scales = ["age\t45\t12\tNA", "sex\tNA\tNA\t0.5"]
    (folder / "covariate_scales.tsv").write_text(
        "\n".join(["covariate\tcentre\tscale\tprevalence", *scales]) + "\n"
    )
    effects = [f"{CHROMOSOME}\t{position(site)}\tC\tA\t{0.5 - 0.1 * site:g}" for site in range(N_SITES)]
    head = "chromosome\tbase_pair_location\teffect_allele\tother_allele\tbeta"
    (folder / "height.tsv").write_text("\n".join([head, *effects]) + "\n")
    loadings = [f"{name}\ta survey\t{0.8 - place / 10:g}" for place, name in enumerate(OUTCOMES)]
    (folder / "loadings.tsv").write_text("\n".join(["outcome\torigin\tf", *loadings]) + "\n")
    base_cohort(1, prefix="r", n_people=n_reference).write(folder / "public")
