"""The settings that identify a release: the ones that define its data, and the ones that make its weights."""

from typing import TYPE_CHECKING, Any

from dpgrs.fit_keys import reads_of_fit, regression_keys, stated
from dpgrs.methods.registry import METHODS
from dpgrs.study.people_terms import has_same_ancestry, terms_of

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

# On which `public_identity` hangs, and which public files a release may be made from.
READS_OF_IDENTITY = (
    "dataset.accession",
    "dataset.consent",
    "dataset.version",
    "cohort.source",
    "cohort.simulation",
    "cohort.field",
    "cohort.fixed_sites",
    "cohort.keep_filtered",
    "outcomes.source",
    "outcomes.heritability",
    "outcomes.causal_share",
    "outcomes.factors",
    "outcomes.network",
    "outcomes.prevalence",
    "outcomes.scales",
    "outcomes.loadings",
    "outcomes.test_share",
    "seed",
    "covariates",
    "people",
    "public.genotypes.sha256",
    "public.outcomes.sha256",
    "public.sites",
    "public.frequencies",
    "public.reference",
    "public.keep",
)

# And `fit_settings`.
READS_OF_FIT = ("methods", *reads_of_fit())


def public_identity(config: "StudyConfig") -> dict[str, Any]:
    """Return the public settings that say which data a release is about, and nothing of a machine.

    The keys are ``dataset`` (which data, in which state), ``genotypes`` (on which the rows depend),
    ``outcomes``, ``covariates`` if there are any, and ``people`` if not everybody is taken. Lists of
    people have only their kinds here, as ids are private and a digest confirms a guessed list. Lists that
    change under one `dataset.version` change the statistics: to the ledger the data changed.
    """
    # These bring pandas.
    from dpgrs.study.table_settings import covariate_identity, outcome_loadings_identity, scales_identity

    cohort, outcomes, dataset = config.cohort, config.outcomes, config.dataset
    public = {"genotypes": config.public.genotypes.sha256, "outcomes": config.public.outcomes.sha256}
    is_simulated = cohort.source == "simulate"
    outcome_keys = ["source"]
    if outcomes.source == "simulate":
        outcome_keys += ["heritability", "causal_share"]
        outcome_keys += [
            name for name in ("factors", "network", "prevalence") if getattr(outcomes, name) is not None
        ]
    return {
        "dataset": {
            "accession": dataset.accession,
            "consent": dataset.consent,
            "dataset_version": dataset.version,
        },
        "genotypes": {
            "simulation": cohort.simulation.as_dict() if is_simulated else None,
            # REF may differ from a VCF of the same people, and the rows with it.
            **({"source": cohort.source} if cohort.source not in ("simulate", "vcf", "table") else {}),
            "field": cohort.field,
            **({"fixed_sites": True} if cohort.fixed_sites else {}),
            "keep_filtered": cohort.keep_filtered,
            "test_share": outcomes.test_share,
            "seed": config.seed,
            **({"public": sorted(public["genotypes"])} if public["genotypes"] else {}),
        },
        "outcomes": {name: getattr(outcomes, name) for name in outcome_keys}
        | ({"public": public["outcomes"]} if public["outcomes"] else {})
        | scales_identity(outcomes.scales)
        | outcome_loadings_identity(outcomes.loadings),
        **covariate_identity(config.covariates),
        **({"people": people} if (people := terms_of(config).public) else {}),
    }


def fit_settings(config: "StudyConfig") -> dict[str, Any]:
    """Return the settings on which the weights of a release depend, beside its statistics: all are public."""
    method, regression = config.methods[0], config.regression.as_dict()
    values = {name: regression[name] for name in regression_keys()}
    is_matched = has_same_ancestry(config) and config.privacy.ld_share is None
    values["same_ancestry"] = METHODS[method].reads_ancestry and is_matched
    values["subtracted"] = sorted(config.public.subtract)
    return {"method": method} | stated(values)
