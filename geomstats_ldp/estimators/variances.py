"""Variances of principal components, as far as private scores tell them."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from geomstats_ldp.estimators import notices
from geomstats_ldp.estimators.base import BasePrivateEstimator
from geomstats_ldp.estimators.frechet import PrivateFrechetMean
from geomstats_ldp.exceptions import NotReadyError, ProtocolError
from geomstats_ldp.inference.functional import SmoothFunctional
from geomstats_ldp.inference.spectrum import (
    explained_variance,
    ordered_components,
    spectrum_of,
)
from geomstats_ldp.mechanisms.streams import make_streams
from geomstats_ldp.score_regression.moments import second_moments
from geomstats_ldp.validation import check_scale

if TYPE_CHECKING:
    from typing_extensions import Self


class ComponentVariances(BasePrivateEstimator):
    """What `PrivatePCA` knows of the order of components, and of their variances.

    A score knows the second moment up to a multiple of the identity. Differences of eigenvalues
    come with the messages, in rounds with their covariance; their sum, the mean squared length of
    a clipped row, does not, and is asked of other people.
    """

    norm_bound: float | str
    n_components: int

    # ---------------------------------------------------------------- the total

    def variance_estimator(self) -> PrivateFrechetMean:
        """Estimator of the total variance: the mean squared length of a clipped row.

        Its data are the squared lengths, shape [n, 1], of people who did not answer this
        estimator: everybody sends one message. Squared lengths over `norm_bound` squared are
        moved to it, as the rows are. Mechanism and privacy are those of this estimator.

        Returns
        -------
        estimator : PrivateFrechetMean
            In one round.
        """
        half = self._row_bound() ** 2 / 2
        return PrivateFrechetMean(
            data_radius=half,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
            initial_point=[half],
            region_radius=half,
            n_rounds=1,
        )

    def _row_bound(self):
        """Bound on the norm of a row, which scouts may have found."""
        if isinstance(self.norm_bound, str) and hasattr(self, "protocol_"):
            return self.protocol_.loss_spec["norm_bound"]
        return check_scale("norm_bound", self.norm_bound)

    def fit_variance(self, X: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Learn the total variance from people who were not among the rows of `fit`.

        Parameters
        ----------
        X : array-like, shape [n, n_features]
            One participant a row, emulated: each releases the squared length of the clipped row.
        groups : array-like of str, shape [n], optional
            Public name of the group of each participant, where `epsilon` has groups.

        Returns
        -------
        self : object
            With `total_variance_`, a `SmoothFunctional`.
        """
        check_is_fitted(self, "server_")
        rows = self._check_rows(X, reset=False)
        lengths = np.minimum(np.linalg.norm(rows, axis=1), self._row_bound())[:, None] ** 2
        estimator = self.variance_estimator()
        if self.random_state is not None:
            # Streams that the messages of `fit` do not share.
            streams = make_streams(self.random_state)
            estimator.set_params(random_state=streams.uniform.spawn(1)[0])
        estimator.fit(lengths, groups=groups)
        # With the collection it belongs to: another fit forgets it.
        self._total_variance = self.server_, estimator.functional(lambda mean: mean[0])
        return self

    @property
    def total_variance_(self) -> SmoothFunctional:
        """Mean squared length of a clipped row, after `fit_variance`."""
        check_is_fitted(self, "server_")
        server, total = getattr(self, "_total_variance", (None, None))
        if total is None or server is not self.server_:
            raise NotReadyError(
                "explained variances need the total variance, which no score tells: call "
                "fit_variance(X) with other people, or give total"
            )
        return total

    def _total(self, total):
        """Total variance and its squared standard error."""
        if total is None:
            total = self.total_variance_
        if isinstance(total, SmoothFunctional):
            return float(total.estimate[0]), float(total.covariance[0, 0])
        if isinstance(total, Real):
            return check_scale("total", total), 0.0
        raise ProtocolError(f"total must be a number or a SmoothFunctional; got {total!r}")

    # ---------------------------------------------------------------- components

    def _learnt(self):
        """Second moment that a collection in rounds has learnt, or None."""
        is_learnt = self.protocol_.rounds is not None and self.protocol_.rounds.moment == "second"
        return self.server_.learn_second_moment() if is_learnt else None

    def _ordered_components(self):
        """Basis of the estimated subspace in the order of the variances, if these are known."""
        learnt, geometry = self._learnt(), self.protocol_.geometry
        if learnt is not None:
            spectrum = spectrum_of(learnt)
            notices.warn_if_tied(spectrum.ties, self.n_components)
            return spectrum.components
        point = self.server_.estimate()
        try:
            moment = second_moments(geometry, point, self.hessian_[None])[-1]
        except NotReadyError:
            moment = np.zeros(geometry.shape)  # in no order yet
        return ordered_components(moment, point)

    def _spectrum(self):
        check_is_fitted(self, "server_")
        learnt = self._learnt()
        if learnt is None:
            raise NotReadyError(
                "variances need a collection in rounds, with n_rounds, and enough answers for a "
                "region: only there is the second moment learnt with its covariance"
            )
        spectrum = spectrum_of(learnt)
        notices.warn_if_tied(spectrum.ties, len(spectrum.components))
        return spectrum

    def excess_variance(self) -> SmoothFunctional:
        """Variance along each component less the mean variance outside of their span.

        This needs no total variance. It is the variance of a factor where all other directions
        have equal variances.

        Returns
        -------
        functional : SmoothFunctional
            Of one number a component; its `jacobian` is by the coefficients of the regression.

        Raises
        ------
        NotReadyError
            If the collection is not in rounds, or too few have answered.

        Warns
        -----
        TiedComponentsWarning
            If eigenvalues cannot be told apart.
        """
        spectrum = self._spectrum()
        return SmoothFunctional(spectrum.excess, spectrum.covariance, spectrum.jacobian)

    def explained_variance(self, total: float | SmoothFunctional | None = None) -> SmoothFunctional:
        """Variance along each component: the eigenvalues of the second moment of clipped rows.

        Parameters
        ----------
        total : float or SmoothFunctional, optional
            Total variance: a public number, or the functional of a `variance_estimator` that was
            collected from other people. Default `total_variance_`, after `fit_variance`.

        Returns
        -------
        functional : SmoothFunctional
            Of one number a component; its `jacobian` is by the coefficients of the regression and
            the total.

        Raises
        ------
        NotReadyError
            If the total is not known, the collection is not in rounds, or too few have answered.
        ProtocolError
            If `total` is something else.

        Warns
        -----
        TiedComponentsWarning
            If eigenvalues cannot be told apart.
        """
        return explained_variance(self._spectrum(), *self._total(total))

    def explained_variance_ratio(
        self, total: float | SmoothFunctional | None = None
    ) -> SmoothFunctional:
        """Share of the total variance along each component; see `explained_variance`."""
        mean, variance = self._total(total)
        return explained_variance(self._spectrum(), mean, variance, as_ratio=True)

    @property
    def explained_variance_(self) -> np.ndarray:
        """Estimates of `explained_variance`, shape [n_components]."""
        return self.explained_variance().estimate

    @property
    def explained_variance_ratio_(self) -> np.ndarray:
        """Estimates of `explained_variance_ratio`, shape [n_components]."""
        return self.explained_variance_ratio().estimate
