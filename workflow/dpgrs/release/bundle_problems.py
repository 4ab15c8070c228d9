"""Why the bundle of a study cannot be written, as far as its settings and its ledger show."""

from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError
from dpgrs.io.files import file_digest
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.release.bundle_room import (
    bundled_statement,
    is_fitted_by,
    other_release_message,
    requests_of,
    require_own_folder,
)
from dpgrs.statement.files import RELEASE
from dpgrs.study.fit_identity import fit_settings
from dpgrs.study.release_cost import asks_again

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

PAGES = ("report", "figures")


def bundle_problems(config: "StudyConfig") -> list[str]:
    """List why the bundle of a study cannot be written, a line each: it holds another release.

    The settings are of a release that its ledger allows. What only a run shows, such as the sites chosen, is
    left to the steps: `require_no_other_bundle` and `require_same_release`.
    """
    folder = Path("results", config.study, RELEASE)
    try:
        for name in PAGES:
            require_own_folder(folder.with_name(name))
        statement = bundled_statement(folder)
    except DpgrsError as error:
        return [f"`study`: {error}"]
    if statement is None:
        return []
    requests, charged = requests_of(statement), Ledger(config.privacy.ledger).read().requests
    is_again = requests <= charged.keys() and asks_again(config, [charged[request] for request in requests])
    effects = [Path(path) for path in config.public.effects or []]
    if not all(path.is_file() for path in effects):
        return []  # its own check names it
    fit = fit_settings(config)
    if effects:
        names = [path.name for path in effects]
        fit |= {"effects": [file_digest(path) for path in effects], "effect_names": names}
    return [] if is_again and is_fitted_by(statement, fit) else [other_release_message(folder)]
