"""What keeps a release from taking the place of another one's bundle, which may be published by then."""

from pathlib import Path

from dpgrs.errors import DpgrsError, must
from dpgrs.io.json_files import read_json
from dpgrs.privacy.ledger.hash_chain import digest
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.private_folders import PRIVATE
from dpgrs.release.bundle import RELEASE, STATEMENT
from dpgrs.study.identity import fit_settings
from dpgrs.study.release_cost import asks_again
from dpgrs.study.request_identity import fit_identity


def bundle_problems(config):
    """List what is wrong with the place of a bundle: it may be free, or hold one that is written again.

    What a run finds out, such as the sites chosen, is left to the steps: `require_no_other_bundle` and
    `require_same_release`.

    Parameters
    ----------
    config : StudyConfig, of a release that its ledger allows.

    Returns
    -------
    list of str, one line a problem.
    """
    folder = Path("results", config.study, RELEASE)
    try:
        statement = bundled_statement(folder)
    except DpgrsError as error:
        return [f"`study`: {error}"]
    if statement is None:
        return []
    requests, known = _requests(statement), Ledger(config.privacy.ledger).read().requests
    is_again = requests <= known.keys() and asks_again(config, [known[request] for request in requests])
    is_alike = _is_fitted_by(statement, fit_settings(config), is_before_run=True)
    return [] if is_again and is_alike else [_taken(folder)]


def bundled_statement(folder):
    """Return the privacy statement of a bundle, a dict; None where there is none.

    Raises
    ------
    DpgrsError
        If it cannot be read.
    """
    path = Path(folder, STATEMENT)
    fix = "Move the folder away: it may be a release that was published."
    return read_json(path, fix=fix) if path.is_file() else None


def require_no_other_bundle(output, asked=(), *, ledger, terms, fit=None):
    """Refuse to charge for a release whose study holds the bundle of another one.

    Parameters
    ----------
    output : path of what is released, below the private folder of its study.
    asked : list of dict, identities of all requests of one mechanism, where they are known by then: a bundle
        of others that it drew is another release's.
    ledger : Ledger of the dataset.
    terms : dict, what every request of the release says in its public identity.
    fit : dict, as in `require_same_release`, where it is known by then.

    Raises
    ------
    DpgrsError
        If a request of the bundle says something else, or its fit. Nothing was charged.
    """
    private = next((folder for folder in Path(output).parents if folder.name == PRIVATE), None)
    statement = bundled_statement(private.with_name(RELEASE)) if private else None
    known = ledger.read().requests if statement else {}
    mechanisms, digests = {one["mechanism"] for one in asked}, {digest(one) for one in asked}

    def is_of_this(identity):
        is_asked = identity["mechanism"] not in mechanisms or digest(identity) in digests
        return is_asked and terms.items() <= identity.items()

    is_other = any(
        request not in known or not is_of_this(known[request].identity) for request in _requests(statement)
    )
    if is_other or (fit is not None and not _is_fitted_by(statement, fit)):
        raise DpgrsError(f"{_taken(private.with_name(RELEASE))} Nothing was charged.")


def require_same_release(folder, requests, *, fit):
    """Refuse to write over a bundle that was made of other requests than these, or fitted in another way.

    Parameters
    ----------
    folder : the bundle, which need not be there.
    requests : set of str, ids of the requests of the new one, maybe more than before.
    fit : dict, from `dpgrs.study.identity.fit_settings`, of the new one.

    Raises
    ------
    DpgrsError
        If its weights would be others. It stays as it is.
    """
    statement = bundled_statement(folder)
    if not (_requests(statement) <= requests and _is_fitted_by(statement, fit)):
        raise DpgrsError(_taken(folder))


def _requests(statement):
    """Return the ids of the requests that a bundle was made of, a set; empty where there is none."""
    if statement is None:
        return set()
    return {mechanism["request"] for mechanism in statement.get("mechanisms") or [{"request": None}]}


def _is_fitted_by(statement, fit, *, is_before_run=False):
    """Tell whether a fit gives the weights of a bundle, by what its statement says of them."""
    if statement is None:
        return True
    stated = {"method": statement.get("method"), **statement.get("fit", {})}
    if "ld" not in fit:
        stated.pop("ld", None)  # which public genotypes: found out in a run
    if is_before_run:
        for name in ("effects", "effect_names"):
            stated.pop(name, None)  # the same of public effects
    is_alike = (stated["method"], stated.keys()) == (fit["method"], fit.keys())
    return is_alike and fit_identity(stated) == fit_identity(fit)


def _taken(folder):
    got = f"that of `{folder}`, which holds a release on other data or terms, or by another fit"
    return must("study", "be new for another release", got, "Name another, or move that folder away.")
