"""One call that releases through any mechanism, interpreted or compiled.

Numba caches on disk only what it reaches through module globals: a kernel passed as an argument
or captured in a closure is compiled again in every process. So compiled callers pass the *data* of
a mechanism, its twin, and the overload below picks the kernel from the type of the twin.
"""

from numba import types
from numba.extending import overload

from geomstats_ldp.mechanisms import gaussian, identity, l2_ball, privunit


def release_into(mechanism, vector, variates, scratch, out):
    """Release ``vector`` with ``variates`` into ``out``.

    Parameters
    ----------
    mechanism : Mechanism, or its ``twin()`` in compiled code
        The randomiser.
    vector : array, shape=[dim]
        Score in frame coordinates; NaN or inf raise ValueError. It may be ``out`` itself.
    variates : array, shape=[n_variates]
        One row of ``mechanism.draw``. Compiled code does not check the shapes.
    scratch : array, shape=[k], k >= dim + 1
        Working memory of the compiled kernels.
    out : array, shape=[dim]
        Receives the message.
    """
    out[...] = mechanism.release(vector, variates)


def _is_twin(mechanism, twin):
    named = isinstance(mechanism, (types.NamedTuple, types.NamedUniTuple))
    return named and mechanism.instance_class is twin


@overload(release_into)
def _release_into(mechanism, vector, variates, scratch, out):
    if _is_twin(mechanism, privunit.PrivUnitTwin):
        return _into_privunit
    if _is_twin(mechanism, gaussian.GaussianTwin):
        return _into_gaussian
    if _is_twin(mechanism, l2_ball.L2BallTwin):
        return _into_l2_ball
    if _is_twin(mechanism, identity.IdentityTwin):
        return _into_identity
    return None


_release_privunit = privunit._release
_release_gaussian = gaussian._release
_release_l2_ball = l2_ball._release
_release_identity = identity._release


def _into_privunit(mechanism, vector, variates, scratch, out):
    _release_privunit(mechanism, vector, variates, scratch, out)


def _into_gaussian(mechanism, vector, variates, scratch, out):
    _release_gaussian(mechanism, vector, variates, scratch, out)


def _into_l2_ball(mechanism, vector, variates, scratch, out):
    _release_l2_ball(mechanism, vector, variates, scratch, out)


def _into_identity(mechanism, vector, variates, scratch, out):
    _release_identity(mechanism, vector, variates, scratch, out)
