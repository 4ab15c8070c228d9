"""What a release may draw: all mechanisms, by name and by method.

A mechanism has a name in the ledger, so that two never share noise or stand for one another, and what it
released is fitted by its own methods alone.
"""

from dpgrs.errors import DpgrsError
from dpgrs.methods.row_mechanisms import BoostedFits, ChosenBoostedFits, ChosenFits
from dpgrs.methods.sum_mechanisms import Adassp, SeparateFits, SharedStatistics

ALL = (SharedStatistics(), Adassp(), SeparateFits(), ChosenFits(), BoostedFits(), ChosenBoostedFits())
MECHANISMS = {mechanism.name: mechanism for mechanism in ALL}


def mechanism_of(method):
    """Return the mechanism from which a method is fitted; what no release may draw for gets ReuseCov's."""
    found = [mechanism for mechanism in MECHANISMS.values() if method in mechanism.methods]
    return found[0] if found else MECHANISMS[SharedStatistics.name]


def mechanism_of_study(config):
    """Return what a release draws; of a benchmark, which may have several, ReuseCov's.

    Parameters
    ----------
    config : dict from `dpgrs.study.settings.resolve`.
    """
    return mechanism_of(config["methods"][0] if config["mode"] == "release" else None)


def mechanism_of_file(label):
    """Return the mechanism that a file of noisy statistics names in a label; without a name it is ReuseCov's.

    Raises
    ------
    DpgrsError
        If the name is not known.
    """
    name = label.get("mechanism", SharedStatistics.name)
    if name not in MECHANISMS:
        raise DpgrsError(
            f"The mechanism of noisy statistics must be one of {', '.join(MECHANISMS)}, got {name}. "
            "Run the study again."
        )
    return MECHANISMS[name]


def request_of(label):
    """Return the PrivacyRequest of a label of noisy statistics, of the kind that its mechanism takes."""
    return mechanism_of_file(label).request(label["request"])
