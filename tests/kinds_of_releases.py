"""Kinds of releases for which neighbouring cohorts are made: their settings, and whom they protect."""

from dataclasses import dataclass, replace

from dpgrs.io.files import file_digest
from dpgrs.privacy.ledger.caps import LARGEST_EPSILON
from neighbouring_cohorts import CHROMOSOME, one_of
from release_studies import CURATION

STUDY = "twin"
BASE = {
    "study": STUDY,
    "mode": "release",
    "dataset": {"accession": "demo", "consent": "open", "version": "1"},
    "release": CURATION,
    "variants": {"size": 8},
}
SECTIONS = {
    "cohort": {"source": "vcf", "vcf": "cohort/{chrom}.vcf", "chromosomes": [CHROMOSOME]},
    "public": {"sites": "sites.tsv", "origin": "made up"},
    "outcomes": {"source": "file", "file": "cohort/outcomes.tsv", "scales": "scales.tsv"},
    "privacy": {"ledger": "ledger.jsonl"},
}
FIXED = {"vcf": None, "fixed_sites": True}
FILES = {
    "bed": {"source": "plink", "plink": "cohort/{chrom}.bed"},
    "pgen": {"source": "plink", "plink": "cohort/{chrom}.pgen", "field": "DS"},
    "bgen": {"source": "bgen", "bgen": "cohort/{chrom}.bgen", "field": "DS"},
}
COVARIATES = {"file": "cohort/covariates.tsv", "scales": "covariate_scales.tsv"}
REFERENCE = {"reference": "public/cohort/{chrom}.vcf", "sites": None}
EFFECTS = {"effects": ["height.tsv"], "subtract": ["height"]}
MEASURED = {"metrics": "public", "outcomes": "public/cohort/outcomes.tsv"}
SCREENING = {"size": 3, "share": 0.3}


@dataclass(frozen=True)
class Kind:
    """One kind of release.

    Attributes
    ----------
    methods : tuple of str; the first is that of CI.
    epsilon : float
    sections : dict of the settings that differ from those of the others, by section.
    rows, protection, neighbours, unit : as in settings.
    has_choices : bool, whether its ledger counts a pure epsilon.
    is_beyond : bool, whether it costs a person more than epsilon 20 where it states 20.
    form : str, of the cohort's genotypes, as of `neighbouring_cohorts.Cohort`.
    has_centres : bool, whether two centres sum their people apart, and the release adds their sums.
    """

    methods: tuple
    epsilon: float
    sections: dict
    rows: str = "people"
    protection: str = "full"
    neighbours: str = "add-remove"
    unit: str = "person"
    has_choices: bool = False
    is_beyond: bool = False
    form: str = "vcf"
    has_centres: bool = False

    @property
    def relation(self):
        """Between which cohorts it protects, for `neighbouring_cohorts.neighbour`."""
        return {"relation": self.neighbours, "protection": self.protection}

    @property
    def account(self):
        """The terms of an account that it can be charged to, for `release_studies.make_ledger`."""
        terms = {"protection": self.protection, "neighbours": self.neighbours, "unit": self.unit}
        return terms | {"epsilon": "500", "pure_epsilon": "200" if self.has_choices else "0"}

    @property
    def most_apart(self):
        """How many times their sensitivity exact statistics may lie apart: a person may be two units."""
        return 2 if self.unit == "haplotype" else 1

    def settings(self, folder):
        """Return the settings of a study in a folder with its files."""
        terms = {"protection": self.protection, "neighbours": self.neighbours, "unit": self.unit}
        sections = {name: dict(keys) for name, keys in SECTIONS.items()}
        sections["cohort"]["rows"] = self.rows
        if self.form != "vcf":
            sections["cohort"] |= FIXED | FILES[self.form]
        sections["privacy"] |= terms | {"epsilon": self.epsilon}
        # What of its people counts as public is declared.
        files = {"feature": ("outcomes", "outcomes.tsv"), "label": ("genotypes", f"{CHROMOSOME}.vcf")}
        if self.protection in files:
            side, name = files[self.protection]
            digest = file_digest(folder / "cohort" / name)
            sections["public"][side] = {"sha256": digest, "origin": "a register"}
        if self.has_centres:
            sections["cohort"] |= {"vcf": None, "sums": "sums.npz"}
            del sections["outcomes"]["file"]
        for name, keys in self.sections.items():
            sections[name] = sections.get(name, {}) | keys
        if sections.get("evaluation", {}).get("metrics") == "charged":
            sections["evaluation"]["epsilon"] = self.epsilon
        if self.is_beyond and self.epsilon == LARGEST_EPSILON:
            sections["privacy"]["beyond_20"] = "the people are made up"
        return BASE | sections | {"methods": self.methods[0]}

    def of_centre(self, name, folder):
        """Return the settings of the study of one centre, whose cohort is in a folder, such as `north/`."""
        sections = replace(self, has_centres=False).settings(None)
        sections["cohort"] |= {"vcf": f"{folder}cohort/{{chrom}}.vcf", "part": True}
        sections["outcomes"] |= {"file": f"{folder}cohort/outcomes.tsv"}
        del sections["privacy"]["ledger"]
        return sections | {"study": name}

    def changed(self, rng):
        """Return the kind with another of its methods, and of two epsilons, at random."""
        method = one_of(rng, self.methods)
        return replace(self, methods=(method,), epsilon=one_of(rng, (2, LARGEST_EPSILON)))


KINDS = {
    "people, tight bounds": Kind(("blup", "blup-shared", "adassp"), 2, {}),
    "haplotypes, worst-case bounds": Kind(
        ("reusecov-gauss", "reusecov-ellipsoid", "blup"),
        20,
        {"privacy": {"bounds": "worst-case"}},
        rows="haplotypes",
        neighbours="replace-one",
        unit="haplotype",
        is_beyond=True,
    ),
    "feature protection": Kind(
        ("reusecov-proj", "blup", "reusecov-gauss"), 20, {}, protection="feature", neighbours="replace-one"
    ),
    "label protection": Kind(
        ("reusecov-proj", "blup", "blup-shared"),
        2,
        {"privacy": {"case_share": 0.05, "bounds": "worst-case"}},
        protection="label",
        neighbours="replace-one",
    ),
    "counts of cases, separate budgets": Kind(
        ("reusecov-gauss",),
        20,
        {"privacy": {"case_share": 0.05, "outcome_budget": "separate"}},
        is_beyond=True,
    ),
    "charged metrics": Kind(
        ("adassp", "blup", "reusecov-gauss"),
        20,
        {
            "outcomes": {"test_share": 0.5, "missing": "none"},
            "evaluation": {"metrics": "charged"},
        },
        is_beyond=True,
    ),
    "choices in rounds": Kind(("k-blup",), 20, {"screening": SCREENING}, has_choices=True),
    "choices, replace-one": Kind(
        ("k-blup",),
        2,
        {"screening": SCREENING},
        rows="haplotypes",
        neighbours="replace-one",
        has_choices=True,
    ),
    "components and covariates": Kind(
        ("blup", "reusecov-gauss"), 20, {"outcomes": {"loadings": "loadings.tsv"}, "covariates": COVARIATES}
    ),
    "covariates first, public reference": Kind(
        ("blup-ld", "blup-hedged"),
        20,
        {"public": REFERENCE, "covariates": COVARIATES | {"pcs": 1, "first": True}},
    ),
    "sums of two centres": Kind(("blup", "reusecov-gauss", "adassp"), 20, {}, has_centres=True),
    "public reference, public metrics": Kind(
        ("blup-hedged", "blup-ld"), 20, {"public": REFERENCE, "evaluation": MEASURED}
    ),
    "public map of a genome": Kind(
        ("blup-genome",), 20, {"public": REFERENCE, "cohort": {"planned_people": 40}}
    ),
    "covariates first, public map of a genome": Kind(
        ("blup-genome",),
        20,
        {"public": REFERENCE, "cohort": {"planned_people": 40}, "covariates": COVARIATES | {"pcs": 1}},
    ),
    "alleles of a .bed": Kind(("blup", "reusecov-gauss"), 20, {}, form="bed"),
    "dosages of a BGEN": Kind(("blup", "adassp", "reusecov-gauss"), 20, {}, form="bgen"),
    "dosages of a .pgen, public reference": Kind(
        ("blup-ld", "blup-steered", "blup-hedged"), 20, {"public": REFERENCE}, form="pgen"
    ),
    "second moments along a public map of a genome": Kind(
        ("blup-genome",),
        20,
        {"public": REFERENCE, "cohort": {"planned_people": 40}, "privacy": {"ld_share": 0.1}},
    ),
    "outcomes less public scores": Kind(
        ("blup-genome",),
        20,
        {"public": REFERENCE | EFFECTS, "cohort": {"planned_people": 40}},
    ),
}
