"""What the two baselines share: public record and rows in, estimates with regions out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from geomstats_ldp.exceptions import (
    HessianFloorWarning,
    NotReadyError,
    ProtocolError,
    UninformativeRegionWarning,
    warn,
)
from geomstats_ldp.inference import WaldRegion
from geomstats_ldp.losses import loss_of
from geomstats_ldp.losses.rows import check_data
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.protocol import GainRule, Protocol
from geomstats_ldp.replication.baselines.regression import (
    BaselineSandwich,
    fit_regression,
    fit_sandwich,
    ridge_weight,
)
from geomstats_ldp.server.engine import make_engine
from geomstats_ldp.server.recursion import LAST_SAFEGUARD, N_CAPPED, N_PROJECTED
from geomstats_ldp.validation import check_integer

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class BaselineFit:
    """A baseline at one sample size.

    Attributes
    ----------
    n_participants : int
        All participants n.
    n_estimate : int
        Participants behind the estimate; the covariance is divided by it.
    estimate : array, shape [*point_shape]
    anchor : array, shape [*point_shape]
        Point about which the regression was made.
    sandwich : BaselineSandwich
    safeguards : array of int, shape [3]
        Those of the state of the point recursion.
    """

    n_participants: int
    n_estimate: int
    estimate: np.ndarray
    anchor: np.ndarray
    sandwich: BaselineSandwich
    safeguards: np.ndarray

    def diagnostics(self) -> dict[str, Any]:
        """How the run went, as a dictionary of plain numbers."""
        sandwich, regression = self.sandwich, self.sandwich.regression
        return {
            "n_participants": self.n_participants,
            "n_estimate": self.n_estimate,
            "n_regression": regression.n_rows,
            "n_capped_updates": int(self.safeguards[N_CAPPED]),
            "n_projected_updates": int(self.safeguards[N_PROJECTED]),
            "last_safeguard": int(self.safeguards[LAST_SAFEGUARD]),
            "gram_condition_number": float(np.linalg.cond(regression.gram)),
            "ridge": regression.ridge,
            "hessian_floor": sandwich.hessian_floor,
            "hessian_floor_active": sandwich.hessian_floor_active,
            "hessian_bound_active": sandwich.hessian_bound_active,
        }


class BaselineEstimator(BaseEstimator):
    """Base of the baselines; subclasses say who is asked what.

    Attributes
    ----------
    fits_ : dict of int to BaselineFit
        By number of participants, one for each checkpoint.
    engine_ : {"compiled", "geomstats"}
        Which engine ran.
    """

    protocol: Protocol
    gain: GainRule | None
    random_state: Seed

    @abstractmethod
    def _make_run(self, totals):
        """The `BaselineRun` for checkpoints at these numbers of participants."""

    @abstractmethod
    def _anchors(self, checkpoints):
        """Points about which the regressions were made."""

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Emulate one participant per row, in row order, from the start.

        Parameters
        ----------
        X : array-like, shape [n_participants, *data_shape]
            Raw data, in the coordinates of the protocol. A participant clips its row to the public
            bounds.
        y : None
            Ignored.

        Returns
        -------
        self : object

        Raises
        ------
        ProtocolError
            If a parameter is out of its range.
        NotReadyError
            If a checkpoint has too few participants for the regression.
        """
        self._check_parameters()
        data = self._check_rows(X)
        totals = self._check_checkpoints(len(data))
        run = self._make_run(totals)
        run.emulate(data, self.random_state)
        fits = self._collect(run.checkpoints, totals)
        self.fits_, self.engine_ = dict(zip(totals, fits)), run.engine
        self.estimate_ = fits[-1].estimate
        self.n_participants_ = totals[-1]
        return self

    def confidence_region(self, level: float = 0.95, checkpoint: int | None = None) -> WaldRegion:
        """Wald confidence region of the parameter.

        Parameters
        ----------
        level : float in (0, 1), default=0.95
        checkpoint : int, optional
            Number of participants, one of `fits_`. Default the last.

        Returns
        -------
        region : WaldRegion

        Warns
        -----
        HessianFloorWarning, UninformativeRegionWarning
        """
        fit = self._fit_at(checkpoint)
        region = WaldRegion(
            self.protocol.geometry,
            fit.estimate,
            fit.sandwich.covariance,
            level,
            self.protocol.working_region,
        )
        if fit.sandwich.hessian_floor_active:
            warn(
                "an eigenvalue of the estimated Hessian is under its floor "
                f"{fit.sandwich.hessian_floor:.3g}, so the regression did not find the Hessian",
                HessianFloorWarning,
            )
        if not region.is_informative:
            warn(
                "the confidence region reaches the edge of the working region",
                UninformativeRegionWarning,
            )
        return region

    @property
    def covariance_(self) -> np.ndarray:
        """Covariance of the estimate in frame coordinates, shape [dim, dim]; divided by n or m."""
        return self._fit_at().sandwich.covariance

    @property
    def hessian_(self) -> np.ndarray:
        """Estimated Hessian of the population loss in frame coordinates, shape [dim, dim]."""
        return self._fit_at().sandwich.hessian

    @property
    def score_covariance_(self) -> np.ndarray:
        """Estimated covariance of one released score, shape [dim, dim]."""
        return self._fit_at().sandwich.score_covariance

    @property
    def diagnostics_(self) -> dict[str, Any]:
        """How the run went, at the last checkpoint; `BaselineFit.diagnostics` for the others."""
        return {"engine": self.engine_} | self._fit_at().diagnostics()

    # ---------------------------------------------------------------- internals

    def _fit_at(self, checkpoint=None):
        check_is_fitted(self, "fits_")
        checkpoint = self.n_participants_ if checkpoint is None else checkpoint
        if checkpoint not in self.fits_:
            raise ValueError(f"checkpoint must be one of {list(self.fits_)}; got {checkpoint!r}")
        return self.fits_[checkpoint]

    def _gain(self):
        return self.protocol.gain if self.gain is None else self.gain

    def _check_parameters(self):
        if not isinstance(self.protocol, Protocol):
            raise ProtocolError(f"protocol must be a Protocol; got {self.protocol!r}")
        if not isinstance(self._gain(), GainRule):
            raise ProtocolError(f"gain must be a GainRule or None; got {self.gain!r}")

    def _check_rows(self, X):
        geometry, loss = self.protocol.geometry, loss_of(self.protocol)
        data = check_data(loss, geometry, X, make_engine(self.engine, geometry).twin)
        if len(data) == 0:
            raise ValueError(f"X must have shape (n, ...) with n >= 1; got {data.shape}")
        return data

    def _check_checkpoints(self, n_rows):
        """Planned numbers of participants, the last of which is that of the rows."""
        given = (n_rows,) if self.checkpoints is None else tuple(self.checkpoints)
        totals = tuple(check_integer("checkpoints", n) for n in given)
        if not totals or totals[-1] != n_rows or any(a >= b for a, b in zip(totals, totals[1:])):
            raise ProtocolError(
                f"checkpoints must increase and end with the {n_rows} rows of X; got {given}"
            )
        for n in totals:
            self._check_size(n)
        return totals

    def _check_size(self, n):
        needed = self.protocol.dim + 2
        n_regression = n - self._split(n)[0]
        if n_regression < needed or self._split(n)[1] < 1:
            raise NotReadyError(
                f"{n} participants leave {n_regression} for the regression, which needs {needed}"
            )

    @abstractmethod
    def _split(self, n):
        """Participants before the regression, and behind the estimate, of n in all."""

    def _collect(self, checkpoints, totals):
        sums, anchors = checkpoints.sums, self._anchors(checkpoints)
        fits = []
        for c, n in enumerate(totals):
            n_estimate, (gram, cross, scatter) = self._split(n)[1], sums.products[c]
            regression = fit_regression(
                int(sums.n_rows[c]), gram, cross, scatter, ridge_weight(gram, n_estimate)
            )
            sandwich = fit_sandwich(regression, self.protocol.hessian_bound, n, n_estimate)
            estimate, safeguards = checkpoints.estimates[c], checkpoints.safeguards[c]
            fits.append(BaselineFit(n, n_estimate, estimate, anchors[c], sandwich, safeguards))
        return fits
