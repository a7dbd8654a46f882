"""Parameters that all estimators share, written once and put into their docstrings."""

from __future__ import annotations

import inspect

_PRIVACY = """
epsilon : float or dict of str to float, default=1.0
    Privacy of each participant's message; ``inf`` for none. A dict gives groups of participants by
    name an epsilon of their own, as {"strict": 1.0, "open": 4.0}; the fingerprint of the protocol
    depends on their order.
delta : float, default=0.0
    Zero for the pure mechanisms; in (0, 1) for ``mechanism="gaussian"``.
mechanism : {"privunit", "gaussian", "l2_ball"}, default="privunit"
    Local randomiser, which makes the message private.
"""

_RUN = """
n_participants : int, optional
    Planned number of participants: it sets the query radius and the gain, and with an odd number
    the last participant gives an ordinary update. `fit` plans for the rows it is given, and uses
    this number, if there is one, for radius and gain only.
n_rounds : int, optional
    Number of rounds in which all participants are asked, 5 to 10 in a real collection: many answer
    the same few questions at a time, in any order. Default None asks symmetric pairs, one pair
    after the other, in half as many rounds as there are participants. Where one question to
    everybody tells the target (covariance matrices, means on flat spaces) one round is enough;
    covariance matrices then take one by default.
tuning : Tuning, optional
    Settings in place of the defaults, which need no tuning: the working region, the rules of the
    recursion and of the inference, the engine, and whether messages are kept.
verbose : bool, default=False
    Show a progress bar in `fit`.
random_state : None, int, numpy Generator or RandomState, default=None
    None takes the noise from the operating system, as privacy needs. A seed is for simulation:
    whoever knows it can remove the noise.
"""

_FEATURES = """
feature_bound : float, default=1.0
    Public bound B on the norm of the features of a row, in their units, so that features on
    different scales are best put on one by public numbers. Longer rows are scaled back to it by
    the participant.
"""

_GUESS = """
initial_point : array-like, shape [n_coefficients], optional
    Public first guess, the intercept first, and centre of the working region. Default zero.
"""

_FITTED = """
covariance_, hessian_, score_covariance_ : array, shape [dim, dim]
    Of the estimate, of the population loss and of one released score, in coordinates of the
    public frame at the estimate; those of a regression are in the units of its coefficients, the
    intercept first.
n_participants_ : int
    Participants whose message has entered the estimate.
diagnostics_ : dict
    Counts, safeguards and the state of the regression.
protocol_, server_, transcript_
    The public side of the run.
"""


def shared_docstring(cls):
    """Fill the places {privacy}, {run}, {fitted}, {features} and {guess} of a class docstring."""
    texts = {"privacy": _PRIVACY, "run": _RUN, "fitted": _FITTED}
    texts |= {"features": _FEATURES, "guess": _GUESS}
    document = inspect.cleandoc(cls.__doc__ or "")  # python -OO leaves none
    for name, text in texts.items():
        document = document.replace("{" + name + "}", text.strip())
    cls.__doc__ = document
    return cls
