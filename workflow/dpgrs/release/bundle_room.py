"""What keeps a release from taking the place of another one's bundle, which may be published by then."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpgrs.errors import DpgrsError, must
from dpgrs.io.json_files import read_json
from dpgrs.methods.registry import REGRESSION
from dpgrs.privacy.digests import digest
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.private_folders import PRIVATE
from dpgrs.statement.files import RELEASE, STATEMENT
from dpgrs.study.fit_identity import fit_identity


def bundled_statement(folder: Path | str) -> dict[str, Any] | None:
    """Return the privacy statement of a bundle; None if there is none. An unreadable one is refused.

    A link or a file instead of the folder is refused, too.
    """
    require_own_folder(Path(folder))
    path = Path(folder, STATEMENT)
    fix = "Move the folder away: it may be a release that was published."
    return read_json(path, fix=fix) if path.is_file() else None


def require_no_other_bundle(
    output: Path | str,
    identities: Sequence[dict[str, Any]] = (),
    *,
    ledger: Ledger,
    public_terms: dict[str, Any],
    fit: dict[str, Any] | None = None,
) -> None:
    """Refuse to charge for a release whose study holds the bundle of another one.

    `output` lies below the private folder of the study. `identities` are those of all requests of one
    mechanism, if they are known by then: a bundle of others by that mechanism is another release's, and so is
    any bundle if these are of a regression on covariates and one is new.
    `public_terms` are in the public identity of every request of the release, `fit` is as in
    `require_same_release`. Nothing is charged.
    """
    private = next((folder for folder in Path(output).parents if folder.name == PRIVATE), None)
    statement = bundled_statement(private.with_name(RELEASE)) if private else None
    charged = ledger.read().requests if statement else {}
    mechanisms, digests = (
        {requested["mechanism"] for requested in identities},
        {digest(requested) for requested in identities},
    )

    def is_of_this(identity: dict[str, Any]) -> bool:
        is_asked = identity["mechanism"] not in mechanisms or digest(identity) in digests
        return is_asked and public_terms.items() <= identity.items()

    # After a new regression every request of adjusted outcomes is new.
    is_new_regression = REGRESSION in mechanisms and not digests <= {
        digest(request.identity) for request in charged.values()
    }
    is_other = any(
        is_new_regression or request not in charged or not is_of_this(charged[request].identity)
        for request in requests_of(statement)
    )
    if is_other or (fit is not None and not is_fitted_by(statement, fit)):
        raise DpgrsError(
            "another-release-in-folder",
            f"{other_release_message(private.with_name(RELEASE))} Nothing was charged.",
        )


def require_same_release(folder: Path | str, requests: set[str], *, fit: dict[str, Any]) -> None:
    """Refuse to write over a bundle that was made of other requests, or fitted in another way.

    `requests` are the ids of the new one, maybe more than before; `fit` is from
    `dpgrs.study.fit_identity.fit_settings`. The bundle stays as it is.
    """
    statement = bundled_statement(folder)
    if not (requests_of(statement) <= requests and is_fitted_by(statement, fit)):
        raise DpgrsError("another-release-in-folder", other_release_message(folder))


def require_own_folder(folder: Path) -> None:
    """Refuse a file or a link, even one that leads nowhere: no step can replace it by a folder."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        kind = "link" if folder.is_symlink() else "file"
        raise DpgrsError(
            "bundle-folder-not-its-own",
            f"`{folder}` must be a folder of its own, which a run replaces as a whole, got a {kind}. Move "
            f"the {kind} away, and copy the folder when it is there.",
        )


def requests_of(statement: dict[str, Any] | None) -> set[str | None]:
    """Return the ids of the requests that a bundle was made of; empty if there is no bundle."""
    if statement is None:
        return set()
    return {mechanism["request"] for mechanism in statement.get("mechanisms") or [{"request": None}]}


def is_fitted_by(statement: dict[str, Any] | None, fit: dict[str, Any]) -> bool:
    """Return whether a fit gives the weights of a bundle, by what its statement says of them."""
    if statement is None:
        return True
    stated = {"method": statement.get("method"), **statement.get("fit", {})}
    if "ld" not in fit:
        stated.pop("ld", None)  # which public genotypes: found out in a run
    is_alike = (stated["method"], stated.keys()) == (fit["method"], fit.keys())
    return is_alike and fit_identity(stated) == fit_identity(fit)


def other_release_message(folder: Path | str) -> str:
    """Say that a folder holds the bundle of another release."""
    got = (
        f"that of `{folder}`, which holds a release on other data or terms, of another ledger, or by another "
        "fit"
    )
    return must("study", "be new for another release", got, "Name another, or move that folder away.")
