"""What a study asks of a mechanism, draw by draw: for a job that keeps what it drew, and in one process."""

from dataclasses import asdict, dataclass

from dpgrs.config.study import StudyConfig
from dpgrs.errors import UsageError, must
from dpgrs.methods.mechanisms import fitted_from
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.sum_mechanisms import SharedStatistics
from dpgrs.study.requests import requests_of
from dpgrs.study.training_data import TrainingData, public_outcomes


@dataclass(frozen=True)
class Draw:
    """One request to a mechanism.

    Attributes
    ----------
    settings : StudyConfig
    mechanism : from `dpgrs.methods.mechanisms.mechanism_named`.
    method : str, for which it is drawn; None where all methods of the mechanism share it.
    data : TrainingData
    request : PrivacyRequest
    names : tuple of str, of the outcomes or of their components.
    """

    settings: StudyConfig
    mechanism: SharedStatistics
    method: str | None
    data: TrainingData
    request: PrivacyRequest
    names: tuple

    @property
    def key(self):
        """By what its noise is told from that of other draws, a tuple of text; terms do by themselves."""
        return self.mechanism.key(self.method)

    @property
    def fitted(self):
        """The methods of the study that are fitted from it, a list of str."""
        known = {"method": self.method, "protection": self.request.protection}
        return fitted_from(self.mechanism, self.settings.methods, **known)

    @property
    def public_outcomes(self):
        """The outcomes of the training rows where they are public, as from `public_outcomes`; else None."""
        return public_outcomes(self.data.outcomes, self.request, count=len(self.names))

    def draw(self, noise):
        """Return what the mechanism gives."""
        terms = {"data": self.data, "names": self.names, "settings": self.settings}
        return self.mechanism.draw(**self.mechanism.exact(self.request, **terms), noise=noise)

    def label(self, drawn):
        """Describe what was drawn, a dict: the request with its events."""
        label = {"mechanism": self.mechanism.name, "request": asdict(self.request), "n": drawn.n}
        label |= {"n_outcomes": len(self.names), "outcomes": self.names}
        if (outcomes := self.data.outcomes).components is not None:
            own = {"n_outcomes": len(outcomes.names), "outcomes": outcomes.names}
            label |= own | {"components": self.names}
        label |= {"events": [event.as_dict() for event in drawn.events]}
        return label | self.mechanism.remarks(drawn)


def draws_of(settings, mechanism, methods, data):
    """Yield every Draw that settings ask of a mechanism.

    Parameters
    ----------
    settings : StudyConfig, with what `dpgrs.study.requests.reads_of_draw` lists.
    mechanism : from `dpgrs.methods.mechanisms.mechanism_named`.
    methods : list of str, those with draws of their own; [None] where all share one.
    data : TrainingData

    Raises
    ------
    UsageError
        If cases are to be counted, and the mechanism counts none; before anything is charged.
    """
    share, drawn = settings.privacy.case_share, mechanism.draws.get("outcomes", ())
    if share is not None and "cases" not in drawn:
        wanted = f"be null for `{mechanism.name}`, which counts no cases"
        raise UsageError(must("privacy.case_share", wanted, share, "Leave it out."))
    outcomes = data.outcomes
    counts = outcomes.drawn_counts(settings.outcomes.count)
    grid = requests_of(settings, rows=outcomes.rows, counts=counts)
    for method in methods:
        for request, count in grid:
            if mechanism.serves(method, request):
                known = {"method": method, "data": data, "n_outcomes": count, "settings": settings}
                asked = mechanism.asked(request, **known)
                yield Draw(settings, mechanism, method, data, asked, outcomes.drawn_names[:count])
