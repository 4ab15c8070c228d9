"""Mechanisms of releases that draw sums over all variants: the parts of their requests, and their weights."""

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.linalg.norms import budget_groups
from dpgrs.methods.registry import METHODS, fitter_of
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics, draw_genotypes, private_count, private_statistics

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.privacy.noise.base import NoiseSource
    from dpgrs.study.training_data import TrainingData


class SharedStatistics:
    """The count, one X'X for all, and for each budget an X'Y and the rows on which its outcomes are known."""

    name = "reusecov-statistics"  # in the public identity of every request
    # What it draws from: ``statistics``, the exact sums, ``variants``, the rows, or ``ld``, public linkage
    # disequilibrium.
    takes = ("statistics",)
    reads = ()  # dotted keys of the settings on which its draws depend, beside the keys of every request
    is_fitted = False  # whether what it draws is fits
    kind = NoisyStatistics  # class of what it draws
    request_kind: type[PrivacyRequest] = PrivacyRequest  # class of the request in the label of its draws
    # Mapping of a kind of part, ``genotypes`` first, to the names of its draws in the budget, in order.
    draws = MappingProxyType({"genotypes": ("count", "gram"), "outcomes": ("observed", "cross", "cases")})

    # The functions that draw in a release, beside `private_count`, which a release audits.
    audited: tuple[str, ...] = ("private_gram", "private_cross_product", "private_statistics")

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that are fitted from its draws."""
        fitters = {name: fitter_of(name) for name, row in METHODS.items() if row.code}
        return tuple(
            name
            for name, fitter in fitters.items()
            if type(self) in (fitter.mechanism, fitter.mechanism_of_benchmark)
        )

    @property
    def draws_gram(self) -> bool:
        """Whether a matrix X'X is among its draws."""
        return any("gram" in names for names in self.draws.values())

    def request(self, terms: dict[str, Any]) -> PrivacyRequest:
        """Make the request again from what ``asdict`` made of it."""
        return self.request_kind(**terms)

    def terms(self, request: PrivacyRequest) -> PrivacyRequest:
        """Return the terms whose ``budget`` the draws have, for a PrivacyRequest."""
        return request

    def pure_budget(self, request: PrivacyRequest) -> tuple[float, ...]:
        """Return the pure epsilons of one part ``outcomes``, a tuple, in the order of the draws."""
        return ()

    def drawn_for(self, methods: Sequence[str]) -> list[str | None]:
        """Return the methods that have draws of their own, a list; None stands for all at once."""
        return [None]

    def serves(self, method: str | None, request: PrivacyRequest) -> bool:
        """Tell whether a method, or any where it is None, exists under the protection of a request."""
        return any(request.protection in METHODS[name].protections for name in self.methods)

    def key(self, method: str | None) -> tuple[str, ...]:
        """Return the key that separates the draws for a method from other draws, a tuple of text."""
        return ()

    def asked(
        self,
        request: PrivacyRequest,
        *,
        method: str,  # one of those of `drawn_for`
        data: "TrainingData",
        n_outcomes: int,
        settings: "StudyConfig",  # with those that it reads
    ) -> PrivacyRequest:
        """Return a request of the study with the bounds that this mechanism uses."""
        within = data.within_bounds(request, n_outcomes)
        return data.with_public_outcomes(within, n_outcomes, keeps_split=settings.mode == "release")

    def exact(
        self, request: PrivacyRequest, *, data: "TrainingData", names: Sequence[str], settings: "StudyConfig"
    ) -> dict[str, Any]:
        """Return all that `draw` takes beside the noise, as keywords; parameters as in `asked`."""
        exact = data.sums(request, len(names)) | {"request": request, "outcome_names": names}
        exact |= {"cases": data.cases(request, len(names))} if self._draws_cases(request) else {}
        public = {"origin": data.origin(request.n_variants), "slopes": data.slopes(request, len(names))}
        return exact | public | data.public_loadings

    def zeros(self, request: PrivacyRequest, n_outcomes: int) -> dict[str, Any]:
        """Return what `draw` takes of a cohort without rows, as keywords, to learn what it draws."""
        size = request.n_columns + 1
        # Of X'X only the shape: it may be larger than the memory.
        gram = np.broadcast_to(np.int64(0), (size, size))
        cross = np.zeros((n_outcomes, size), dtype=np.int64)
        counted = ("observed", "cases") if self._draws_cases(request) else ("observed",)
        counts = dict.fromkeys(counted, np.zeros(n_outcomes, dtype=np.int64))
        return {"gram": gram, "cross": cross, "n_rows": 1, **counts}

    def _draws_cases(self, request: PrivacyRequest) -> bool:
        return request.counts_cases and "cases" in self.draws["outcomes"]

    def remarks(self, drawn: Any) -> dict[str, Any]:
        """Return the fields of a draw's label beside the request and its events, a dict."""
        return {}

    def draw(
        self,
        gram: np.ndarray,
        cross: np.ndarray,
        n_rows: int,
        *,
        origin: np.ndarray | None = None,
        slopes: np.ndarray | None = None,
        loadings: np.ndarray | None = None,
        **options: Any,
    ) -> Any:
        """Release the statistics.

        `origin`, `slopes` and `loadings`: public, as in `NoisyStatistics`; all others as in
        `private_statistics`. The result is NoisyStatistics or the like, with n, cross, origin and all events.
        """
        public = {"origin": origin, "slopes": slopes, "loadings": loadings}
        return replace(private_statistics(gram, cross, n_rows, **options), **public)

    def draw_genotypes(
        self, gram: np.ndarray | None, n_rows: int, *, request: PrivacyRequest, noise: "NoiseSource"
    ) -> None:
        """Draw the part ``genotypes`` only, as `draw` does first; parameters as there."""
        draw_request = self.terms(request)
        if "gram" in self.draws["genotypes"]:
            draw_genotypes(gram, n_rows, request=draw_request, noise=noise)
        elif draw_request.has_private_count:
            private_count(n_rows, request=draw_request, noise=noise.of("genotypes"))

    def arrays(self, drawn: Any) -> dict[str, np.ndarray]:
        """Return the drawn statistics as a dict of arrays, for a file; n and events stand in its label."""
        names = ("gram", "cross", "origin", "observed", "cases", "slopes", "loadings")
        arrays = {name: getattr(drawn, name, None) for name in names}
        return {name: array for name, array in arrays.items() if array is not None}

    def restore(self, label: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
        """Restore drawn statistics from their label and `arrays`."""
        return self.kind(**arrays, n=label["n"])

    def outputs(
        self,
        drawn: Any,  # from `draw` or `restore`
        names: Sequence[str],  # n_outcomes str
        request: PrivacyRequest,  # here and below
    ) -> dict[tuple[str, ...], tuple]:
        """Return the numbers that each part gave.

        The result is a dict of part to a tuple of arrays and numbers.
        """
        of_all = (drawn.n, drawn.gram)
        is_drawn = request.has_private_count or request.has_private_gram
        by_part = {("genotypes",): of_all} if is_drawn else {}
        for group in budget_groups(len(names), n_shared=request.n_outcomes):
            counts = () if drawn.observed is None else (drawn.observed[group],)
            # No request draws a public n or X'X; outcomes include them, so that no others replace them.
            cases = () if drawn.cases is None else (drawn.cases[group],)
            outcome_numbers = (*counts, drawn.cross[group], *cases)
            by_part["outcomes", *names[group]] = (*(() if is_drawn else of_all), *outcome_numbers)
        return by_part

    def depends_on(
        self, part: tuple[str, ...], names: Sequence[str], request: PrivacyRequest
    ) -> tuple[str, ...]:
        """Return a part with the names of all outcomes on whose values its exact statistics depend."""
        return part

    def drawn_before(self, request: PrivacyRequest) -> dict[str, Any]:
        """Return how the part ``genotypes`` was drawn if outcomes depend on it, for their identity."""
        return {}

    def requests_of_outcomes(self, n_outcomes: int, request: PrivacyRequest) -> int:
        """Return how many parts ``outcomes`` there are."""
        return n_outcomes // request.n_outcomes


class OwnStatistics(SharedStatistics):
    """Statistics that each of the methods has for itself."""

    def drawn_for(self, methods: Sequence[str]) -> list[str | None]:
        return [method for method in self.methods if method in methods]

    def serves(self, method: str | None, request: PrivacyRequest) -> bool:
        row = METHODS[method]
        return request.protection in row.protections and row.neighbours in (None, request.neighbours)

    def key(self, method: str | None) -> tuple[str, ...]:
        return (method,)
