"""Mechanisms of releases that draw sums over all variants: the parts of their requests, and their weights."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from dpgrs.linalg.norms import budget_groups
from dpgrs.methods.adassp import AdasspStatistics, adassp_request, fit_adassp, private_adassp
from dpgrs.methods.fits import fit_released
from dpgrs.methods.registry import METHODS, named
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics, private_statistics
from dpgrs.privacy.accounting.events import event_of


class SharedStatistics:
    """The count, one X'X for all outcomes, and for each budget an X'Y and the rows on which they are known.

    Attributes
    ----------
    name : str, in the public identity of every request.
    methods : tuple of str, those whose rows in the registry name it.
    draws : mapping of a kind of part, ``genotypes`` first, to the names of its draws in the budget, in order.
    takes : tuple of str, what it draws from: ``statistics``, the exact sums, ``variants``, the rows, or
        ``ld``, public linkage disequilibrium.
    is_fitted : bool, whether what it draws is fits.
    kind : class of what it draws.
    reads : tuple of str, dotted keys of the settings on which its draws hang, beside those of every request.
    """

    name = "reusecov-statistics"
    takes = ("statistics",)
    reads = ()
    is_fitted = False
    kind = NoisyStatistics
    draws = MappingProxyType({"genotypes": ("count", "gram"), "outcomes": ("observed", "cross", "cases")})

    @property
    def methods(self):
        return tuple(
            name
            for name, row in METHODS.items()
            if type(self) in [named(place) for place in (row.mechanism, row.mechanism_of_benchmark) if place]
        )

    @property
    def draws_gram(self):
        """Whether a matrix X'X is among its draws."""
        return any("gram" in names for names in self.draws.values())

    def request(self, terms):
        """Make the request again from what ``asdict`` made of it."""
        return PrivacyRequest(**terms)

    def terms(self, request):
        """Return the terms whose ``budget`` the draws have, for a PrivacyRequest."""
        return request

    def pure_budget(self, request):
        """Return the pure epsilons of one part ``outcomes``, a tuple, in the order of the draws."""
        return ()

    def drawn_for(self, methods):
        """Return the methods that have draws of their own, a list; None stands for all at once."""
        return [None]

    def serves(self, method, request):
        """Tell whether a method, or any where it is None, exists under the protection of a request."""
        return any(request.protection in METHODS[one].protections for one in self.methods)

    def key(self, method):
        """Return by what the draws for a method are told from those of others, a tuple of text."""
        return ()

    def asked(self, request, *, method, data, n_outcomes, settings):
        """Return what is asked for: a request of the study, with what this mechanism takes of its bounds.

        Parameters
        ----------
        request : PrivacyRequest
        method : str, one of those of `drawn_for`.
        data : TrainingData
        n_outcomes : int
        settings : StudyConfig, with those that it reads.
        """
        within = data.within_bounds(request, n_outcomes)
        return data.with_public_outcomes(within, n_outcomes, keeps_split=settings.mode == "release")

    def exact(self, request, *, data, names, settings):
        """Return all that `draw` takes beside the noise, as keywords; parameters as in `asked`."""
        exact = data.sums(request, len(names)) | {"request": request, "outcome_names": names}
        exact |= {"cases": data.cases(request, len(names))} if self._draws_cases(request) else {}
        public = {"origin": data.origin(request.n_variants), "slopes": data.slopes(request, len(names))}
        return exact | public | data.public_loadings

    def zeros(self, request, n_outcomes):
        """Return what `draw` takes of a cohort without rows, as keywords, to learn what it draws."""
        size = request.n_columns + 1
        # Of X'X only the shape: it may be larger than the memory.
        gram = np.broadcast_to(np.int64(0), (size, size))
        cross = np.zeros((n_outcomes, size), dtype=np.int64)
        counted = ("observed", "cases") if self._draws_cases(request) else ("observed",)
        counts = dict.fromkeys(counted, np.zeros(n_outcomes, dtype=np.int64))
        return {"gram": gram, "cross": cross, "n_rows": 1, **counts}

    def _draws_cases(self, request):
        return request.counts_cases and "cases" in self.draws["outcomes"]

    def remarks(self, drawn):
        """Return what a label says of what was drawn, beside the request and its events, a dict."""
        return {}

    def draw(self, gram, cross, n_rows, *, origin=None, slopes=None, loadings=None, **options):
        """Release the statistics.

        Parameters
        ----------
        origin, slopes, loadings : public, as in `NoisyStatistics`; all others as in `private_statistics`.

        Returns
        -------
        NoisyStatistics or the like, with n, cross, origin and all events.
        """
        public = {"origin": origin, "slopes": slopes, "loadings": loadings}
        return replace(private_statistics(gram, cross, n_rows, **options), **public)

    def arrays(self, drawn):
        """Return what was drawn as a dict of arrays, for a file; n and events stand in its label."""
        names = ("gram", "cross", "origin", "observed", "cases", "slopes", "loadings")
        arrays = {name: getattr(drawn, name, None) for name in names}
        return {name: array for name, array in arrays.items() if array is not None}

    def restore(self, label, arrays):
        """Make what was drawn again, from its label and `arrays`."""
        return self.kind(**arrays, n=label["n"])

    def outputs(self, drawn, names, request):
        """Return the numbers that each part gave.

        Parameters
        ----------
        drawn : from `draw` or `restore`.
        names : n_outcomes str
        request : PrivacyRequest; here and below.

        Returns
        -------
        dict of part to a tuple of arrays and numbers.
        """
        of_all = (drawn.n, drawn.gram)
        is_drawn = request.has_private_count or request.has_private_gram
        parts = {("genotypes",): of_all} if is_drawn else {}
        for group in budget_groups(len(names), n_shared=request.n_outcomes):
            counts = () if drawn.observed is None else (drawn.observed[group],)
            # What is public has no request of its own, and no other may take its place all the same.
            cases = () if drawn.cases is None else (drawn.cases[group],)
            own = (*counts, drawn.cross[group], *cases)
            parts["outcomes", *names[group]] = (*(() if is_drawn else of_all), *own)
        return parts

    def depends_on(self, part, names, request):
        """Return a part with the names of all outcomes on whose values its exact statistics hang."""
        return part

    def drawn_before(self, request):
        """Return how a part ``genotypes`` was drawn on which outcomes hang, for their public identity."""
        return {}

    def requests_of_outcomes(self, n_outcomes, request):
        """Return how many parts ``outcomes`` there are."""
        return n_outcomes // request.n_outcomes

    def fit(self, method, drawn, *, request, terms, outcomes=None):
        """Fit all outcomes by one of `methods`; parameters as in `fit_released`. It is post-processing."""
        return fit_released(method, drawn, request=request, terms=terms, outcomes=outcomes)


class OwnStatistics(SharedStatistics):
    """Statistics that each of the methods has for itself."""

    def drawn_for(self, methods):
        return [method for method in self.methods if method in methods]

    def serves(self, method, request):
        known = METHODS[method]
        return request.protection in known.protections and known.neighbours in (None, request.neighbours)

    def key(self, method):
        return (method,)


class Adassp(OwnStatistics):
    """The same and the smallest eigenvalue of X'X, from which AdaSSP takes its penalty."""

    name = "adassp-statistics"
    draws = MappingProxyType(
        {"genotypes": ("count", "gram", "eigenvalue"), "outcomes": ("observed", "cross", "cases")}
    )

    def terms(self, request):
        return adassp_request(request)

    def draw(self, gram, cross, n_rows, *, origin=None, slopes=None, **options):
        return replace(private_adassp(gram, cross, n_rows, **options), origin=origin, slopes=slopes)

    def arrays(self, drawn):
        return super().arrays(drawn) | {"smallest_eigenvalue": np.array(drawn.smallest_eigenvalue)}

    def restore(self, label, arrays):
        # The penalty follows from the scales of the noise.
        terms = {"n": label["n"], "events": tuple(map(event_of, label["events"]))}
        eigenvalue = float(arrays["smallest_eigenvalue"])
        return AdasspStatistics(**arrays | terms | {"smallest_eigenvalue": eigenvalue})

    def outputs(self, drawn, names, request):
        parts = super().outputs(drawn, names, request)
        parts["genotypes",] += (drawn.smallest_eigenvalue,)
        return parts

    def fit(self, method, drawn, *, request, terms, outcomes=None):
        return fit_adassp(drawn)
