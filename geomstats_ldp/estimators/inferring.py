"""The inferring half of an estimator: region, tests and functionals from the state alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from geomstats_ldp.estimators import notices
from geomstats_ldp.estimators.collecting import Collecting
from geomstats_ldp.exceptions import NotReadyError, ProtocolError
from geomstats_ldp.inference import (
    ProfiledFunctional,
    ScoreRegion,
    SmoothFunctional,
    WaldRegion,
    chart_of_scores,
    estimate_round_sandwich,
    estimate_sandwich,
    predict_from_differences,
    predict_pair_scores,
    smooth_functional,
)
from geomstats_ldp.inference.calibration import ONE_LOOK, AnyLook, BiasedLook
from geomstats_ldp.losses import loss_of
from geomstats_ldp.server.recursion import LAST_SAFEGUARD, N_CAPPED, N_PROJECTED
from geomstats_ldp.server.regression import windows_of_groups
from geomstats_ldp.validation import check_choice, check_integer

#: Kinds of confidence regions.
KINDS = ("wald", "score")

#: Largest step of a difference of scores, in radii of the working region.
_LARGEST_STEP = 0.01


class Inferring(Collecting):
    """Collection whose state is turned into inference."""

    _clipping: Any

    def confidence_region(
        self,
        level: float = 0.95,
        kind: str = "wald",
        *,
        anytime: bool | int = False,
        moment_bound: tuple[float, float] | None = None,
    ) -> WaldRegion | ScoreRegion:
        """Confidence region of the parameter.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
        kind : {"wald", "score"}, default="wald"
            "wald" is the ellipsoid of the sandwich covariance about the estimate. "score" tests
            the score at each point instead: it holds however badly the Hessian is known, and is
            larger, or open in some directions, where that is so.
        anytime : bool or int, default=False
            Whether the level holds for all looks at a collection together, whenever you look and
            whatever you then decide, instead of for one look that was fixed beforehand. Such a
            region is larger, and least so near a number of participants that has to be the same
            at all looks: True takes the planned number, an integer another. Of the Wald kind only.
        moment_bound : pair of float, optional
            Public bound (q, M) on the data: the mean q-th power of the length that participants
            clip, the norm of a datum or its distance from the centre of the data, is at most M. The
            region is then widened by what clipping can have done, and holds the target of the data
            as they are. Default None, for the target of clipped data.

        Returns
        -------
        region : WaldRegion or ScoreRegion

        Raises
        ------
        NotReadyError
            If too few participants have answered for the regression.
        ProtocolError
            If there is no such kind, `anytime` is True without a planned number or comes with the
            score kind, or `moment_bound` is no such pair, or says nothing of this loss.
        ArgumentTypeError
            If `anytime` is neither a bool nor an integer.

        Warns
        -----
        HessianFloorWarning, LostCurvatureWarning, SafeguardWarning, UninformativeRegionWarning,
        WeakCurvatureWarning
        """
        check_choice("kind", kind, KINDS)
        sandwich, prediction = self._sandwich(), self._prediction(kind)
        place = self.protocol_.geometry, self.server_.estimate()
        rest: tuple[Any, Any, Any] = level, self.protocol_.working_region, self._coordinates()
        calibration = self._calibration(anytime, kind)
        if self._n_warned_of != self.server_.n_participants:  # fit() said so
            notices.warn_if_cut(self.server_)
        region: WaldRegion | ScoreRegion
        if kind == "score":
            place = chart_of_scores(self.protocol_), place[1]
            calibration = self._widened(calibration, prediction.covariance, moment_bound)
            region = ScoreRegion(*place, prediction, *rest, calibration)
        else:
            score_covariance = sandwich.hessian @ sandwich.covariance @ sandwich.hessian
            calibration = self._widened(calibration, score_covariance, moment_bound)
            region = WaldRegion(*place, sandwich.covariance, *rest, calibration)
            notices.warn_about_hessian(sandwich)
            notices.warn_if_weak(sandwich, prediction, self.protocol_.inference)
        if self.protocol_.rounds is not None:
            notices.warn_if_lost(self.server_.curvature_lost())
        notices.warn_about_region(region)
        return region

    def test(
        self,
        point: ArrayLike,
        kind: str = "wald",
        *,
        anytime: bool | int = False,
        moment_bound: tuple[float, float] | None = None,
    ) -> float:
        """P-value of the test that the parameter is `point`.

        Parameters
        ----------
        point : array-like, shape [*point_shape]
        kind : {"wald", "score"}, default="wald"
            See `confidence_region`.
        anytime : bool or int, default=False
            Whether the p-value may be looked at again and again: the chance that it is ever at
            most alpha is then at most alpha. See `confidence_region`.
        moment_bound : pair of float, optional
            To test the target of data that are not clipped; see `confidence_region`.

        Returns
        -------
        pvalue : float

        Warns
        -----
        HessianFloorWarning, LostCurvatureWarning, SafeguardWarning, UninformativeRegionWarning,
        WeakCurvatureWarning
        """
        region = self.confidence_region(kind=kind, anytime=anytime, moment_bound=moment_bound)
        return float(region.pvalue(point))

    def functional(
        self,
        h: Callable,
        jacobian: ArrayLike | None = None,
        kind: str = "wald",
        *,
        transform: Any = None,
        anytime: bool | int = False,
        moment_bound: tuple[float, float] | None = None,
    ) -> SmoothFunctional | ProfiledFunctional:
        """Estimate and intervals of a smooth function of the parameter.

        Parameters
        ----------
        h : callable
            Maps a point, shape [*point_shape], to a number or a vector of length r.
        jacobian : array-like, shape [r, dim], optional
            Derivative of h along the frame at the estimate, for the delta method; default central
            differences.
        kind : {"wald", "score"}, default="wald"
            "wald" takes the delta method, "score" the range of h in a score region.
        transform : None, "log", "logit" or pair of callables
            Of the delta method, whose intervals it keeps in the range of h: normal is what a
            monotone function g of each component is, the logarithm of a positive number, the logit
            of one between 0 and 1, or g of a pair (g, inverse of g). A score interval needs none.
        anytime : bool or int, default=False
            Whether an interval holds for all looks together; see `confidence_region`.
        moment_bound : pair of float, optional
            For intervals of the target of data that are not clipped; see `confidence_region`.

        Returns
        -------
        functional : SmoothFunctional or ProfiledFunctional

        Raises
        ------
        ProtocolError
            If `kind` or `transform` is none of these, or a transform is given with "score".

        Warns
        -----
        HessianFloorWarning, LostCurvatureWarning, SafeguardWarning, UninformativeRegionWarning,
        WeakCurvatureWarning
        SmoothnessWarning
            If h has a kink or a stationary point within the uncertainty of the parameter, or bends
            strongly over it.
        """
        region = self.confidence_region(kind=kind, anytime=anytime, moment_bound=moment_bound)
        if isinstance(region, ScoreRegion):
            if transform is not None:
                raise ProtocolError(
                    "transform must be None for kind='score', whose interval holds values of h "
                    f"only; got {transform!r}"
                )
            return ProfiledFunctional(h, region)
        functional = smooth_functional(
            h,
            self.protocol_.geometry,
            self.server_.estimate(),
            region.covariance,
            coordinates=self._coordinates(),
            jacobian=jacobian,
            transform=transform,
            calibration=region.calibration,
        )
        notices.warn_if_bent(functional)
        return functional

    def _calibration(self, anytime, kind):
        """What statistics of this moment are compared with."""
        if anytime is False:
            return ONE_LOOK
        if kind == "score":
            raise ProtocolError(f"anytime must be False for kind='score'; got {anytime!r}")
        planned = self.protocol_.n_participants if anytime is True else anytime
        if anytime is True and planned is None:
            raise ProtocolError(
                "anytime must be a number of participants where none is planned, the same at all "
                "looks; got True"
            )
        check_integer("anytime", planned)
        return AnyLook(self.server_.n_participants, planned)

    def _widened(self, calibration, score_covariance, moment_bound):
        """Calibration for the target of data that are not clipped.

        The bias of the mean score, in its worst direction and in standard errors: no Hessian
        enters.
        """
        if moment_bound is None:
            return calibration
        place = self.protocol_.geometry, self.server_.estimate()
        change = loss_of(self.protocol_).score_change_bound(*place, moment_bound)
        squares = change.T @ np.linalg.solve(score_covariance, change)
        return BiasedLook(calibration, float(np.linalg.norm(squares, 2)))

    def _warn_if_clipped(self):
        """Warn of the bias that clipping can cause, once there is a region to compare it with."""
        try:
            sandwich = self._sandwich()
        except NotReadyError:
            return
        loss, point = loss_of(self.protocol_), self.server_.estimate()
        place = loss, self.protocol_.geometry, point
        change = self._clipping.score_change(*place)
        longest = _LARGEST_STEP * self.protocol_.working_region.radius
        steps = np.minimum(np.sqrt(np.diag(sandwich.covariance)), longest)
        hessian = sandwich.hessian + self._clipping.hessian_change(*place, steps)
        notices.warn_if_clipped(self._clipping, change, hessian, sandwich, loss)
        self._clipping = self._clipping._replace(given=(), kept=())  # data are not kept

    def _sandwich(self):
        check_is_fitted(self, "server_")
        if self.protocol_.rounds is not None:
            return estimate_round_sandwich(self.server_.fit(), self.protocol_)
        return estimate_sandwich(self.server_.state, self.protocol_)

    def _prediction(self, kind="score"):
        """Mean score predicted about the estimate, by the regression that a kind of region uses."""
        if self.protocol_.rounds is not None:
            return self.server_.predict_scores()
        predict = predict_pair_scores if kind == "score" else predict_from_differences
        return predict(self.server_.state, self.protocol_)

    @property
    def covariance_(self) -> np.ndarray:
        """Covariance of the estimate in frame coordinates, shape [dim, dim]; divided by n."""
        return self._sandwich().covariance

    @property
    def hessian_(self) -> np.ndarray:
        """Estimated Hessian of the population loss in frame coordinates, shape [dim, dim]."""
        return self._sandwich().hessian

    @property
    def score_covariance_(self) -> np.ndarray:
        """Estimated covariance of one released score, shape [dim, dim]."""
        return self._sandwich().score_covariance

    @property
    def diagnostics_(self) -> dict[str, Any]:
        """How the run went: counts, safeguards, and the regression once there is one."""
        check_is_fitted(self, "server_")
        server, in_pairs = self.server_, self.protocol_.rounds is None
        report = {"engine": server.engine.name, "n_participants": server.n_participants}
        report |= _pair_report(server) if in_pairs else _round_report(server)
        if self.protocol_.groups is not None:
            report["groups"] = server.groups()
        if self._clipping is not None:
            report["clipped_share"] = self._clipping.share
        try:
            sandwich = self._sandwich()
        except NotReadyError:
            return report
        return report | {
            "gram_condition_number": float(np.linalg.cond(sandwich.regression.gram)),
            "hessian_floor": sandwich.hessian_floor,
            "hessian_floor_active": sandwich.hessian_floor_active,
            "hessian_bound_active": sandwich.hessian_bound_active,
            "guard": sandwich.guard,
        }


def _pair_report(server):
    """Counts of a collection in pairs."""
    safeguards, n_directions = server.state.safeguards, len(server.protocol.directions)
    n_groups = len(server.protocol.mechanisms)
    windows = windows_of_groups(server.state.sums, n_groups, n_directions)
    return {
        "n_pending": len(server.pending),
        "n_pairs": server.n_pairs,
        "n_regression_pairs": sum(int(part.n_pairs) for part in windows),
        "n_capped_updates": int(safeguards[N_CAPPED]),
        "n_projected_updates": int(safeguards[N_PROJECTED]),
        "last_safeguard": int(safeguards[LAST_SAFEGUARD]),
    }


def _round_report(server):
    """Counts of a collection in rounds."""
    return {
        "n_rounds_closed": server.n_closed,
        "answers_by_round": server.state.counts.sum(axis=1).tolist(),
        "is_complete": server.is_complete,
    }
