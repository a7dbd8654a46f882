"""The answer of a fitted estimator as a plain record, for JSON."""

from __future__ import annotations

from geomstats_ldp.exceptions import LDPWarning


def answer_record(estimator, level):
    """Estimate and region, in the coordinates of the user.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    level : float in (0, 1)

    Returns
    -------
    record : dict

    Raises
    ------
    NotReadyError
        If too few have answered for a region.
    """
    region = estimator.confidence_region(level)
    return {
        "n_participants": estimator.n_participants_,
        "estimate": estimator.estimate_.tolist(),
        "level": level,
        "covariance": estimator.covariance_.tolist(),
        "largest_radius": region.largest_radius,
        "is_informative": bool(region.is_informative),
    }


def texts_of(caught, leave_out=()):
    """Texts of the warnings of this package among those that were caught, each once.

    Parameters
    ----------
    caught : list of warnings.WarningMessage
    leave_out : type or tuple of types
        Kinds that are not wanted.
    """
    wanted = [w for w in caught if issubclass(w.category, LDPWarning)]
    texts = [str(w.message) for w in wanted if not issubclass(w.category, leave_out)]
    return list(dict.fromkeys(texts))
