"""Parameters that all estimators share, written once and put into their docstrings."""

from __future__ import annotations

import inspect

_PRIVACY = """
epsilon : float, default=1.0
    Privacy of each participant's message; ``inf`` for none.
delta : float, default=0.0
    Zero for the pure mechanisms; in (0, 1) for ``mechanism="gaussian"``.
mechanism : {"privunit", "gaussian", "l2_ball"}, default="privunit"
    Local randomiser.
"""

_RUN = """
n_participants : int, optional
    Planned number of participants: it sets the query radius and the gain, and with an odd number
    the last participant gives an ordinary update. `fit` plans for the rows it is given, and uses
    this number, if there is one, for radius and gain only.
pairs_per_round : int, default=1
    Query pairs that share one iterate.
hessian : {"shrunk", "isotropic", "raw"}, optional
    Whether the deviatoric part of the estimated Hessian is shrunk by its noise, left out or kept
    whole. By default all that the loss knows of it is used: bounds on its eigenvalues, or that it
    is isotropic. A value, and `inference` too, leaves that out.
hessian_prior : tuple (matrix [dim, dim], float), optional
    Public prior of the Hessian in frame coordinates, and the standard deviation of an entry about
    it, in place of shrinkage. It sharpens the region under strong privacy where the loss knows
    little.
radius : RadiusRule, optional
gain : GainRule, optional
inference : InferenceRule, optional
    Public rules in place of the defaults, which need no tuning.
engine : {"auto", "compiled", "geomstats"}, default="auto"
    Whether the recursion runs compiled or calls geomstats; the results agree.
keep_transcript : bool, default=False
    Keep every message, for `transcript_`.
verbose : bool, default=False
    Show a progress bar in `fit`.
random_state : None, int, numpy Generator or RandomState, default=None
    None takes the noise from the operating system, as privacy needs. A seed is for simulation:
    whoever knows it can remove the noise.
"""

_FITTED = """
covariance_, hessian_, score_covariance_ : array, shape [dim, dim]
    Of the estimate, of the population loss and of one released score, in coordinates of the
    public frame at the estimate.
n_participants_ : int
    Participants whose message has entered the estimate.
diagnostics_ : dict
    Counts, safeguards and the state of the regression.
protocol_, server_, transcript_
    The public side of the run.
"""


def shared_docstring(cls):
    """Fill the places {privacy}, {run} and {fitted} of a class docstring."""
    texts = {"privacy": _PRIVACY, "run": _RUN, "fitted": _FITTED}
    document = inspect.cleandoc(cls.__doc__ or "")  # python -OO leaves none
    for name, text in texts.items():
        document = document.replace("{" + name + "}", text.strip())
    cls.__doc__ = document
    return cls
