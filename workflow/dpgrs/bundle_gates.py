"""What keeps a release from taking the place of another one's bundle, which may be published by then."""

from pathlib import Path

from dpgrs.errors import DpgrsError, must
from dpgrs.io.json_files import read_json
from dpgrs.privacy.ledger import Ledger
from dpgrs.private_places import PRIVATE
from dpgrs.release.bundle import RELEASE, STATEMENT
from dpgrs.release_cost import asks_again


def bundle_problems(config):
    """List what is wrong with the place of a bundle: it may be free, or hold one that is written again.

    What a run finds out, such as the sites chosen, is left to the steps: `require_room` and
    `require_same_release`.

    Parameters
    ----------
    config : dict from `dpgrs.config.resolve`, of a release that its ledger allows.

    Returns
    -------
    list of str, one line a problem.
    """
    folder = Path("results", config["study"], RELEASE)
    try:
        requests = bundled_requests(folder)
    except DpgrsError as error:
        return [f"`study`: {error}"]
    if not requests:
        return []
    known = Ledger(config["privacy"]["ledger"]).read().requests
    is_again = requests <= known.keys() and asks_again(config, [known[request] for request in requests])
    return [] if is_again else [_taken(folder)]


def bundled_requests(folder):
    """Return the ids of the requests that a bundle was made of, a set; empty where there is none.

    Raises
    ------
    DpgrsError
        If its statement cannot be read.
    """
    path = Path(folder, STATEMENT)
    if not path.is_file():
        return set()
    fix = "Move the folder away: it may be a release that was published."
    mechanisms = read_json(path, fix=fix).get("mechanisms")
    return {mechanism["request"] for mechanism in mechanisms or [{"request": None}]}


def require_room(output, *, ledger, terms):
    """Refuse to charge for a release whose study holds the bundle of another one.

    Parameters
    ----------
    output : path of what is released, below the private folder of its study.
    ledger : Ledger of the dataset.
    terms : dict, what every request of the release says in its public identity.

    Raises
    ------
    DpgrsError
        If a request behind the bundle says something else. Nothing was charged.
    """
    private = next((folder for folder in Path(output).parents if folder.name == PRIVATE), None)
    requests = bundled_requests(private.with_name(RELEASE)) if private else ()
    known = ledger.read().requests if requests else {}
    if any(
        request not in known or not terms.items() <= known[request].identity.items() for request in requests
    ):
        raise DpgrsError(f"{_taken(private.with_name(RELEASE))} Nothing was charged.")


def require_same_release(folder, requests):
    """Refuse to write over a bundle that was made of other requests than these; DpgrsError.

    Parameters
    ----------
    folder : the bundle, which need not be there.
    requests : set of str, ids of the requests behind the new one, maybe more than before.
    """
    if not bundled_requests(folder) <= requests:
        raise DpgrsError(_taken(folder))


def _taken(folder):
    got = f"that of `{folder}`, which holds a release on other data or terms"
    return must("study", "be new for another release", got, "Name another, or move that folder away.")
