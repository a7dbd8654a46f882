"""Body measurements of adults, from two cycles of a United States health survey.

The 2017-2018 cycle plays the participants: one row is one datum. The 2015-2016 cycle plays the
public knowledge that exists before anybody is asked: it is kept as a few summary numbers only.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.validation import check_shape, finite_array

_DATA = files("geomstats_ldp.datasets") / "data"
_TABLE = "nhanes_2017_2018_body_measures.csv.gz"
_DESCRIPTION = "README.md"

# Loose enough for a frame computed elsewhere in double precision, tight enough to catch a mistake.
_FRAME_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class BodyMeasuresReference:
    """Public summary of an earlier survey cycle, fixed before any message is collected.

    All arrays are read-only and ordered as height (cm), weight (kg), waist circumference (cm).

    Parameters
    ----------
    n_participants : int
        Number of adults with complete measurements behind the summary.
    mean : array-like, shape [3]
        Mean of each measure, in its own unit.
    standard_deviation : array-like, shape [3]
        Standard deviation of each measure (divisor n - 1), in its own unit.
    norm_bound : float
        Euclidean norm B to which standardised rows are clipped.
    second_moment : array-like, shape [3, 3]
        Mean of y y^T over the standardised and clipped rows y; no unit.
    """

    n_participants: int
    mean: np.ndarray
    standard_deviation: np.ndarray
    norm_bound: float
    second_moment: np.ndarray

    def __post_init__(self):
        """Replace the arrays by read-only copies."""
        for name in ("mean", "standard_deviation", "second_moment"):
            array = np.array(getattr(self, name), dtype=float)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def standardise(self, X: ArrayLike) -> np.ndarray:
        """Centre and scale raw measures by the moments of this cycle.

        Parameters
        ----------
        X : array-like, shape [..., 3]
            Height (cm), weight (kg) and waist circumference (cm).

        Returns
        -------
        standardised : array, shape [..., 3]
            ``(X - mean) / standard_deviation``, not clipped: clipping is the participant's part.

        Raises
        ------
        ProtocolError
            If the last axis of X does not hold the three measures.
        """
        X = np.asarray(X, dtype=float)
        check_shape("X", X, (..., self.mean.size))
        return (X - self.mean) / self.standard_deviation

    def leading_direction(self) -> np.ndarray:
        """Unit leading eigenvector of the second moment, signed so that its entries sum above 0.

        Returns
        -------
        direction : array, shape [3]
            A point on the unit sphere.
        """
        direction = np.linalg.eigh(self.second_moment)[1][:, -1]
        return direction * np.sign(direction.sum())

    def eigengap_hessian(self, basis: ArrayLike) -> np.ndarray:
        r"""Hessian of the population loss of PCA at the leading direction.

        With S the second moment, lambda_1 its largest eigenvalue and E the basis, this is
        E (lambda_1 I - S) E^T; its eigenvalues are the gaps between lambda_1 and the others.
        Its inverse is a public preconditioner for the later cycle.

        Parameters
        ----------
        basis : array-like, shape [2, 3]
            Orthonormal rows that span the tangent space at `leading_direction`.

        Returns
        -------
        hessian : array, shape [2, 2]
            Symmetric matrix in the coordinates of the basis.

        Raises
        ------
        ProtocolError
            If the rows are not an orthonormal basis of that tangent space.
        """
        basis = self._check_tangent_basis(basis)
        largest = np.linalg.eigvalsh(self.second_moment)[-1]
        return basis @ (largest * np.eye(self.mean.size) - self.second_moment) @ basis.T

    def _check_tangent_basis(self, basis: ArrayLike) -> np.ndarray:
        shape = (self.mean.size - 1, self.mean.size)
        basis = finite_array("basis", basis, shape)
        gram, along = basis @ basis.T, basis @ self.leading_direction()
        if not np.allclose(gram, np.eye(shape[0]), rtol=0, atol=_FRAME_TOLERANCE):
            raise ProtocolError(f"basis must have orthonormal rows; got the products {gram}")
        if not np.allclose(along, 0, rtol=0, atol=_FRAME_TOLERANCE):
            raise ProtocolError(
                f"basis must be orthogonal to the leading direction; got the products {along}"
            )
        return basis


# Computed from the complete records of the 2015-2016 cycle. The second moment was computed after
# standardising by the rounded moments below, so that the record is consistent with itself.
NHANES_2015_2016 = BodyMeasuresReference(
    n_participants=5359,
    mean=np.array([166.30110095, 81.30863967, 99.56193320]),
    standard_deviation=np.array([10.02619603, 21.49557569, 16.85033838]),
    norm_bound=2.5,  # clips 10.3% of the rows (554 of 5,359)
    second_moment=np.array(
        [
            [0.9247625793, 0.3566752441, 0.0943204176],
            [0.3566752441, 0.7704746674, 0.6917203122],
            [0.0943204176, 0.6917203122, 0.8156881701],
        ]
    ),
)
"""Public summary of the 2015-2016 cycle: 5,359 examined adults with complete measurements."""


def load_nhanes_body_measures() -> Bunch:
    """Load height, weight and waist circumference of 5,175 examined adults, 2017-2018.

    The National Health and Nutrition Examination Survey (NHANES) measures its respondents with
    trained technicians. The table holds everybody aged 18 or over whose three measurements are
    complete, without survey weights, in the order of the respondent numbers.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        Dictionary-like object, with the following attributes.

        data : array, shape [5175, 3]
            Raw measures; one row is one participant.
        feature_names : list of str
            ``["height_cm", "weight_kg", "waist_cm"]``.
        respondent_id : array, shape [5175]
            Respondent sequence number (SEQN) of each row, increasing.
        is_female : array of bool, shape [5175]
            Gender as the survey recorded it, the other being male.
        DESCR : str
            Where the data come from and how they were extracted.

    Examples
    --------
    >>> from geomstats_ldp.datasets import load_nhanes_body_measures
    >>> measures = load_nhanes_body_measures()
    >>> measures.data.shape
    (5175, 3)
    >>> measures.feature_names
    ['height_cm', 'weight_kg', 'waist_cm']
    """
    names, table = _read_table()
    return Bunch(
        data=np.ascontiguousarray(table[:, 1:4]),
        feature_names=names[1:4],
        respondent_id=table[:, 0].astype(np.int64),
        is_female=table[:, 4] == 2,
        DESCR=(_DATA / _DESCRIPTION).read_text(encoding="utf-8"),
    )


def _read_table():
    """Column names and values of the shipped table, which may lie inside a zip archive."""
    with (_DATA / _TABLE).open("rb") as packed, gzip.open(packed, "rt", encoding="ascii") as lines:
        names = next(lines).strip().split(",")
        return names, np.loadtxt(lines, delimiter=",")
