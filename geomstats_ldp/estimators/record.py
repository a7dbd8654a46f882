"""The answer of a fitted estimator as a plain record, for JSON."""

from __future__ import annotations

from geomstats_ldp.exceptions import LDPWarning


def answer_record(estimator, region):
    """Estimate and region of a fitted estimator, in the coordinates of the user."""
    return {
        "n_participants": estimator.n_participants_,
        "estimate": estimator.estimate_.tolist(),
        "level": region.level,
        "covariance": estimator.covariance_.tolist(),
        "largest_radius": region.largest_radius,
        "is_informative": bool(region.is_informative),
    }


def texts_of(caught, leave_out=()):
    """Texts of the warnings of this package among those that were caught, each once.

    Kinds to `leave_out` are not wanted.
    """
    wanted = [w for w in caught if issubclass(w.category, LDPWarning)]
    texts = [str(w.message) for w in wanted if not issubclass(w.category, leave_out)]
    return list(dict.fromkeys(texts))
