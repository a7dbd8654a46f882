"""What estimators warn about, and which parameter would help."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np

from geomstats_ldp.exceptions import (
    ClippingWarning,
    DiscardWarning,
    FewParticipantsWarning,
    HessianFloorWarning,
    LostCurvatureWarning,
    SafeguardWarning,
    SeedWarning,
    SmoothnessWarning,
    TiedComponentsWarning,
    UninformativeRegionWarning,
    WeakCurvatureWarning,
    WeakPrivacyWarning,
    warn,
)
from geomstats_ldp.inference.calibration import ONE_LOOK
from geomstats_ldp.inference.prediction import LARGEST_ERROR, weak_curvature
from geomstats_ldp.score_regression import fewest_participants
from geomstats_ldp.server.recursion import LAST_SAFEGUARD
from geomstats_ldp.server.regression import fewest_pairs

#: A safeguard that acts in this last part of a run has not become inactive.
_LATE = 0.9

#: Bias by clipping that is as large as the uncertainty, relative to the largest semi-axis.
_LARGE_BIAS = 0.5

#: A region that is smaller than this next to the working region lies at its edge if it reaches it.
_SMALL_REGION = 0.5

#: Distance from the tangent over one standard deviation, in standard errors.
_LARGEST_BEND = 0.5

#: Share of the curvature that may be missing in the answers about it, as scores bend too, and the
#: standard errors by which more must be missing: the 99% quantile.
_LARGEST_LOSS, _LOSS_ERRORS = 1 / 3, 2.33

#: A larger delta lets a mechanism release a noticeable share of the data as they are.
_LARGEST_DELTA = 1e-3


def warn_if_few(protocol, n_participants):
    """Too few participants for a confidence region, which is known before they are emulated."""
    if protocol.rounds is None:
        fewest = 2 * fewest_pairs(len(protocol.directions), protocol.dim)
    else:
        fewest = fewest_participants(protocol)  # so few are given one round
    if n_participants < fewest:
        warn(
            f"{n_participants} participants are too few for a confidence region, which takes "
            f"{fewest}",
            FewParticipantsWarning,
        )


def warn_if_norms_are_vague(n_participants, n_enough):
    """Scouts do not tell where the norms are."""
    if n_participants < n_enough:
        warn(
            f"{n_participants} scouts may be too few to tell norm_bound, which takes {n_enough} "
            "under this epsilon: it may be far from the norms of the rows. A public norm_bound, "
            "more participants or a larger epsilon would help",
            FewParticipantsWarning,
        )


def warn_if_start_is_vague(is_sharp, n_participants):
    """Scouts do not tell where to start."""
    if not is_sharp:
        warn(
            f"{n_participants} scouts are too few to tell the initial point: the study may start "
            "far from its target, or at another direction. A public initial_point, more "
            "participants or a larger epsilon would help",
            FewParticipantsWarning,
        )


def warn_if_clipped(clipping, change, hessian, sandwich, loss):
    """Rows of an emulation were moved to the bounds of the loss, and may have moved the target.

    A mean change b of the score at the target of clipped rows moves the target by about b over the
    Hessian of rows as they are, H: `change` and `hessian`. At an estimate that is off by e the
    change is larger by (H - H_c) e, with H_c that of clipped rows.
    """
    bias, by_error = math.nan, 0.0  # beyond floating point
    if np.isfinite(change).all() and np.isfinite(hessian).all():
        inverse = np.linalg.inv(hessian)
        bias = math.hypot(*(inverse @ change))
        by_error = np.linalg.norm(np.eye(len(change)) - inverse @ sandwich.hessian, 2)
    quantile = ONE_LOOK.quantile(0.95, len(sandwich.covariance))
    axis = math.sqrt(quantile * float(np.linalg.eigvalsh(sandwich.covariance)[-1]))
    if not bias <= (_LARGE_BIAS + by_error) * axis:
        way = f"about {bias:.2g}" if math.isfinite(bias) else "more than floating point can tell"
        warn(
            f"{clipping.share:.0%} of the rows lie outside the public bounds of {_in_brief(loss)} "
            f"and were moved to them, which may move the target by {way} while the "
            f"largest semi-axis of its 95% region is {axis:.2g}; the estimate and its region are "
            "about the moved data. Wider bounds, another initial_point or public scaling would "
            "help. Only an emulation can tell",
            ClippingWarning,
        )


def _in_brief(loss):
    """A loss with its numbers to four digits, and without its arrays."""
    numbers = [
        f"{name}={value:.4g}" for name, value in loss.to_spec().items() if isinstance(value, Real)
    ]
    return f"{type(loss).__name__}({', '.join(numbers)})"


def warn_if_cut(server):
    """The step cap or the projection still acted late in the run."""
    when = _late_safeguard(server)
    if when is not None:
        warn(
            f"the step cap or the projection still acted {when}: the target may lie outside the "
            "working region or close to its edge. An initial_point nearer to it, a larger "
            "region_radius or a larger epsilon would help",
            SafeguardWarning,
        )


def _late_safeguard(server):
    """When a safeguard acted last, if that was late."""
    if server.protocol.rounds is not None:
        return "in the last step" if server.is_cut else None
    last = int(server.state.safeguards[LAST_SAFEGUARD])
    if last > _LATE * server.n_participants:
        return f"at participant {last} of {server.n_participants}"
    return None


def warn_about_hessian(sandwich):
    """A bound of the Hessian acted."""
    if sandwich.hessian_floor_active:
        warn(
            "an eigenvalue of the estimated Hessian is under its floor "
            f"{sandwich.hessian_floor:.3g}; the region is conservative. More participants or a "
            "larger epsilon would help",
            HessianFloorWarning,
        )


def warn_if_weak(sandwich, prediction, rule):
    """The Hessian is known too badly in its weakest direction for a Wald region."""
    error, direction = weak_curvature(prediction, sandwich.hessian, rule)
    if error > LARGEST_ERROR:
        warn(
            f"curvature is weak in the direction {np.round(direction, 2).tolist()} of the frame "
            f"coordinates, where the Hessian has a relative error of {error:.0%}: the Wald region "
            "may cover less often than its level. In Python, "
            'confidence_region(kind="score") gives a region that keeps its level; more '
            "participants or a larger epsilon would help",
            WeakCurvatureWarning,
        )


def warn_if_lost(lost):
    """Answers about curvature tell less of it than scores, and not by chance.

    `lost` is the share that is missing and its standard error, or None.
    """
    if lost is not None and lost[0] - _LOSS_ERRORS * lost[1] > _LARGEST_LOSS:
        warn(
            f"answers about curvature tell {min(lost[0], 1.0):.0%} less of it than scores do, with "
            f"a standard error of {lost[1]:.0%}: the score of the loss turns within less than the "
            "spread of the data, and clipping takes what few people have much of. The estimate "
            "errs more than it need, and regions may cover less often than their level. "
            "asks_curvature = False in the loss would help, and so may a larger region_radius",
            LostCurvatureWarning,
        )


def warn_if_tied(ties, n_components):
    """Eigenvalues with equal neighbours have no components of their own."""
    for i in ties:
        what = "the order and the directions of these two components mean nothing"
        if i == n_components:
            what = "where the subspace ends is not known; another n_components would help"
        warn(
            f"eigenvalues {i} and {i + 1} cannot be told apart: {what}",
            TiedComponentsWarning,
        )


def warn_about_region(region):
    """A region is open, or reaches the edge of the working region."""
    if region.is_open:
        directions = np.round(region.open_directions, 2).tolist()
        warn(
            f"the score region is open in the directions {directions} of the frame coordinates, "
            "about which the messages say too little, and is cut by the working region there; "
            "more participants or a larger epsilon would help",
            UninformativeRegionWarning,
        )
        return
    if not region.is_informative:
        is_small = region.largest_radius < _SMALL_REGION * region.working_region.in_radius
        advice = (
            "lies at the edge of the working region: the target may lie outside it. Move "
            "initial_point towards the estimate, or widen region_radius"
            if is_small
            else "reaches the edge of the working region, which says little about the parameter; "
            "more participants or a larger epsilon would help"
        )
        warn(
            f"the confidence region {advice}",
            UninformativeRegionWarning,
        )


def warn_if_bent(functional):
    """The delta method replaces h by its tangent, which is not close to it."""
    is_bent = functional.bend > _LARGEST_BEND
    if is_bent.any():
        worst = int(np.argmax(functional.bend))
        which = "h" if len(is_bent) == 1 else f"component {worst} of h"
        warn(
            f"{which} is {functional.bend[worst]:.2g} standard errors off its tangent one standard "
            "deviation from the estimate: it has a kink or a stationary point there, or bends "
            "strongly, and its interval is not to be trusted. A smooth h, more participants or a "
            "larger epsilon would help",
            SmoothnessWarning,
        )


def warn_if_discarded(server):
    """A collection under way is dropped."""
    if server.n_received > 0:
        warn(
            f"a collection that {server.n_received} participants have answered is dropped; their "
            "privacy is spent nevertheless. save_state() keeps a collection",
            DiscardWarning,
        )


def warn_if_delta_is_large(delta):
    """A probability of failure that is no privacy."""
    if isinstance(delta, Real) and not isinstance(delta, bool) and _LARGEST_DELTA < delta < 1:
        warn(
            f"delta={delta!r} allows a mechanism that releases this share of the data as they are; "
            f"it should be far below one over the number of people, and at most {_LARGEST_DELTA}",
            WeakPrivacyWarning,
        )


def warn_if_seeded(random_state):
    """A client for people must not be seeded."""
    if random_state is not None:
        warn(
            f"random_state={random_state!r}: every copy of this participant draws the same noise, "
            "which protects nobody; it is for simulation. Use random_state=None where people "
            "answer",
            SeedWarning,
        )
