"""Small frozen records of the public rules a protocol fixes, each checked when it is made."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.schedules import check_gain_exponent, check_radius_exponent
from geomstats_ldp.validation import (
    check_bool,
    check_choice,
    check_integer,
    check_non_negative,
    check_positive,
    check_real,
    check_shape,
    real_array,
)

HESSIANS = ("shrunk", "isotropic", "raw")
DIVISORS = ("regression", "pairs")

#: Features up to which pairs keep the sums for a second moment, (p + 3 choose 4) numbers.
MOST_FEATURES = 32

#: Plain types by annotation, which is a text where annotations are not evaluated.
_PLAIN = {"float": float, "int": int, float: float, int: int}


def _range(name, bounds):
    """Return bounds on eigenvalues as a pair of floats, or raise a ProtocolError."""
    pair = real_array(name, bounds)
    if pair.shape != (2,) or not (0 <= pair[0] <= pair[1] and 0 < pair[1] < math.inf):
        raise ProtocolError(
            f"{name} must be (low, high) with 0 <= low <= high, high positive and finite; got "
            f"{bounds!r}"
        )
    return tuple(pair.tolist())


class Rule:
    """Plain numbers of a public rule."""

    #: Fields that a record does without where they are as by default.
    _left_out: ClassVar[tuple] = ()

    def _settle(self):
        """Store every number as a plain one, so that equal rules have equal records."""
        for field in fields(self):
            plain = _PLAIN.get(field.type)
            if plain is not None:
                object.__setattr__(self, field.name, plain(getattr(self, field.name)))

    def to_spec(self) -> dict[str, Any]:
        """Plain record, for JSON; some fields are left out where they are as by default."""
        defaults = {field.name: field.default for field in fields(self)}  # type: ignore[arg-type]
        return {
            name: value
            for name, value in asdict(self).items()  # type: ignore[call-overload]
            if name not in self._left_out or value != defaults[name]
        }


@dataclass(frozen=True)
class RadiusRule(Rule):
    """Query radius h = min(maximum, scale * c^-exponent) in cycle c = 1, 2, ...

    Parameters
    ----------
    maximum : float
        Largest radius, in tangent length (radians on the sphere).
    scale : float
        Radius in the first cycle before the maximum applies.
    exponent : float
        0 for a fixed radius, else strictly between 1/4 and 1/2.
    n_wide : int, optional
        For collections in rounds: of the first ``2 * n_wide - 1`` rounds every other one, from the
        first on, asks at the maximum, and all other rounds ask at their centre itself.
    """

    maximum: float
    scale: float
    exponent: float
    n_wide: int | None = None
    _left_out: ClassVar[tuple] = ("n_wide",)

    def __post_init__(self):
        check_positive("radius maximum", self.maximum)
        check_positive("radius scale", self.scale)
        check_radius_exponent(self.exponent)
        if self.n_wide is not None:
            object.__setattr__(self, "n_wide", check_integer("n_wide", self.n_wide))
        self._settle()

    @classmethod
    def fixed(cls, radius: float) -> RadiusRule:
        """Rule of one radius throughout, for a fixed horizon or an affine score.

        Parameters
        ----------
        radius : float
            In tangent length.

        Returns
        -------
        rule : RadiusRule
        """
        return cls(maximum=radius, scale=radius, exponent=0.0)


@dataclass(frozen=True)
class GainRule(Rule):
    """Gain ``constant * (i + offset)^-exponent`` per participant, and the step cap.

    Parameters
    ----------
    constant, offset : float
        In units of inverse Hessian, and of participants.
    exponent : float
        Strictly between 1/2 and 1.
    step_cap : float
        Largest tangent length of one update; inf for no cap.
    """

    constant: float
    offset: float
    exponent: float
    step_cap: float

    def __post_init__(self):
        check_positive("gain constant", self.constant)
        check_non_negative("gain offset", self.offset)
        check_gain_exponent(self.exponent)
        check_real("step_cap", self.step_cap, "positive", lambda cap: cap > 0)
        self._settle()


@dataclass(frozen=True)
class InferenceRule(Rule):
    """Constants of the nuisance estimates and of the finite-sample corrections.

    The defaults need no tuning; `paper` gives the form of the paper.

    Parameters
    ----------
    hessian : {"shrunk", "isotropic", "raw"}, optional
        Whether the deviatoric part of the regression Hessian is shrunk by its noise, left out, or
        kept whole. Default "shrunk"; an estimator then also makes use of all that its loss knows:
        bounds on the eigenvalues, that the Hessian is isotropic, or a prior.
    ridge : float
        The ridge is ``ridge * (s_n / d) * n^-1/2``.
    hessian_floor : float
        The eigenvalue floor is ``hessian_floor * max(hessian_unit, mean |eigenvalue|) * n^-1/4``,
        at most half the Hessian bound.
    hessian_unit : float
        Smallest scale the floor uses, in units of the Hessian.
    covariance_floor : float
        Without noise the eigenvalues of the score covariance are floored at
        ``covariance_floor * max(covariance_unit, mean |eigenvalue|) * n^-1/3``.
    covariance_unit : float
        Smallest scale of that floor, in units of the score squared.
    guard : float, optional
        Strength a of the finite-sample guard ``1 + a * min(u, guard_cap)^guard_power``. Default
        1/2 + 6/d in d dimensions, at most 2.5; with 6/(10 d)^(1/2) in place of 6/d from
        d = 10 on.
    guard_cap : float
    guard_power : float
        1 in the paper; 2 is the order at which the noise of the Hessian enters the statistic.
    horizon : bool
        Whether to add the variance that the gains leave at a finite horizon.
    divisor : {"regression", "pairs"}
        Residual covariance with divisor L - d - 1, or L.
    hessian_range : tuple (low, high), optional
        Public bounds on the eigenvalues of the Hessian at the target, 0 <= low <= high.
    prior_hessian : nested tuple, shape [dim, dim], optional
        Public prior of the Hessian in frame coordinates, towards which the regression is ridged.
        It takes the place of shrinkage.
    prior_sd : float, optional
        Standard deviation of an entry of the Hessian about its prior, in units of the Hessian.
    moment : {"second"}, optional
        In pairs on the unit sphere, that scores are linear in the second moment of the data: score
        regions then rest on the exact regression of all messages on it. The state has
        (p + 3 choose 4) more numbers for that, with p <= 32 features. An estimator sets it where
        `hessian` is left to the loss.
    hessian_blocks : tuple of (size, low, high), optional
        Sizes of the blocks on the diagonal, in frame coordinates, outside of which the Hessian is
        zero, and public bounds on the eigenvalues of each; one with low = high is that multiple of
        the identity. An estimator sets it on products of spaces, where its loss says so.
    """

    hessian: str | None = None
    ridge: float = 0.1
    hessian_floor: float = 0.5
    hessian_unit: float = 0.0
    covariance_floor: float = 0.1
    covariance_unit: float = 0.0
    guard: float | None = None
    guard_cap: float = 1.0
    guard_power: float = 2.0
    horizon: bool = True
    divisor: str = "regression"
    hessian_range: tuple | None = None
    prior_hessian: tuple | None = None
    prior_sd: float | None = None
    moment: str | None = None
    hessian_blocks: tuple | None = None
    _left_out: ClassVar[tuple] = ("moment", "hessian_blocks")

    def __post_init__(self):
        for name in ("ridge", "hessian_unit", "covariance_unit", "guard_cap"):
            check_non_negative(name, getattr(self, name))
        if self.guard is not None:
            object.__setattr__(self, "guard", check_non_negative("guard", self.guard))
        for name in ("hessian_floor", "covariance_floor", "guard_power"):
            check_positive(name, getattr(self, name))
        check_choice("hessian", self.hessian, (*HESSIANS, None))
        check_choice("divisor", self.divisor, DIVISORS)
        check_bool("horizon", self.horizon)
        check_choice("moment", self.moment, (None, "second"))
        if self.hessian_range is not None:
            object.__setattr__(self, "hessian_range", _range("hessian_range", self.hessian_range))
        self._check_prior()
        if self.hessian_blocks is not None:
            self._check_blocks()
        self._settle()

    def settled(self) -> InferenceRule:
        """The rule with the Hessian named, as a protocol holds it."""
        return replace(self, hessian=self.hessian or "shrunk")

    def check_dimension(self, dim: int) -> None:
        """Refuse a prior or blocks of another dimension.

        Parameters
        ----------
        dim : int

        Raises
        ------
        ProtocolError
            If the shape of `prior_hessian` is not (dim, dim), or the sizes of `hessian_blocks` do
            not add up to dim.
        """
        if self.prior_hessian is not None:
            check_shape("prior_hessian", self.prior_hessian, (dim, dim))
        if self.hessian_blocks is not None and sum(self._block_sizes) != dim:
            raise ProtocolError(
                f"sizes of hessian_blocks must add up to the dimension {dim}; got "
                f"{self._block_sizes}"
            )

    @property
    def _block_sizes(self):
        return [size for size, _, _ in self.hessian_blocks]

    def _check_blocks(self):
        if self.hessian not in ("shrunk", None) or self.prior_hessian is not None:
            raise ProtocolError(
                "hessian_blocks must be None unless hessian is 'shrunk' and has no prior; got "
                f"hessian={self.hessian!r} and prior_hessian={self.prior_hessian!r}"
            )
        blocks = []
        for block in self.hessian_blocks:
            if np.shape(block) != (3,):
                raise ProtocolError(
                    f"hessian_blocks must be a sequence of (size, low, high); got {block!r}"
                )
            size = check_integer("size of hessian_blocks", block[0])
            blocks.append((size, *_range("hessian_blocks", block[1:])))
        object.__setattr__(self, "hessian_blocks", tuple(blocks))

    def _check_prior(self):
        if (self.prior_hessian is None) != (self.prior_sd is None):
            given = "prior_sd" if self.prior_hessian is None else "prior_hessian"
            raise ProtocolError(f"prior_hessian and prior_sd must be given together; got {given}")
        if self.prior_hessian is None:
            return
        prior = real_array("prior_hessian", self.prior_hessian)
        square = prior.ndim == 2 and prior.shape[0] == prior.shape[1]
        if not square or not np.isfinite(prior).all() or not np.allclose(prior, prior.T):
            raise ProtocolError(
                f"prior_hessian must be a finite symmetric matrix; got {self.prior_hessian!r}"
            )
        object.__setattr__(self, "prior_hessian", tuple(map(tuple, prior.tolist())))
        object.__setattr__(self, "prior_sd", check_positive("prior_sd", self.prior_sd))

    @classmethod
    def paper(cls, *, guard: float = 0.0, guard_cap: float = 0.35) -> InferenceRule:
        """Estimates as in section S.3 of the paper: raw Hessian, linear guard, divisor L.

        Parameters
        ----------
        guard : float, default=0.0
        guard_cap : float, default=0.35

        Returns
        -------
        rule : InferenceRule
        """
        return cls(
            hessian="raw",
            hessian_unit=1.0,
            covariance_unit=1.0,
            guard=guard,
            guard_cap=guard_cap,
            guard_power=1.0,
            horizon=False,
            divisor="pairs",
        )
