"""Every error and warning of the package, in one place."""

from __future__ import annotations

import sys
import warnings
from types import FrameType


class LDPError(Exception):
    """Base class of the errors that are specific to this package."""


class ProtocolError(LDPError, ValueError):
    """A public specification is incomplete or contradicts itself."""


class ArgumentTypeError(ProtocolError, TypeError):
    """A public parameter is of a type that is not allowed."""


class CutLocusError(LDPError, ValueError):
    """Two points have no unique minimising geodesic, so a logarithm is undefined."""


class NotReadyError(LDPError, ValueError, AttributeError):
    """Too few participants have answered for the quantity that was asked for."""


class MessageError(LDPError, ValueError):
    """A message was refused; the state is what it was before it came."""


class ForeignMessageError(MessageError):
    """The message answers another protocol."""


class StaleMessageError(MessageError):
    """The message answers a round that is not open."""


class DuplicateMessageError(MessageError):
    """The query the message answers has been answered already."""


class InvalidMessageError(MessageError):
    """The message is not a finite tangent vector in the support of the mechanism."""


class AlreadyAnsweredError(LDPError, RuntimeError):
    """The person has answered; a second answer would spend their privacy again."""


class DatumError(LDPError, ValueError):
    """A datum cannot be used as it is; the text of the error does not contain it."""


class CollectionError(LDPError, RuntimeError):
    """A collection service refuses, or does not answer."""


class NewerStateError(LDPError, ValueError):
    """The file holds a state that this collection does not continue; it is not overwritten."""


class TableError(LDPError, ValueError):
    """A file of rows, or what is asked of it, cannot be used; no cell is in the text."""


class PlotError(LDPError, ValueError):
    """There is no such picture of this region, or not on these Axes."""


class StudyFileError(LDPError, ValueError):
    """A file of a simulation study is damaged, or of a study with other settings."""


class LDPWarning(UserWarning):
    """Base class of the warnings of this package."""


class ClippingWarning(LDPWarning):
    """Rows of an emulation were clipped to the public bounds, which may move the target."""


class DiscardWarning(LDPWarning):
    """A collection under way was dropped, and with it the privacy its participants spent."""


class FewParticipantsWarning(LDPWarning):
    """There are too few participants for a confidence region."""


class HessianFloorWarning(LDPWarning):
    """The estimated Hessian had an eigenvalue under the floor; the region is conservative."""


class UninformativeRegionWarning(LDPWarning):
    """The confidence region reaches the edge of the working region."""


class RawDataWarning(LDPWarning):
    """Rows that were passed as messages look like data, which nothing has protected."""


class SafeguardWarning(LDPWarning):
    """The step cap or the projection still acts late in the run."""


class SmoothnessWarning(LDPWarning):
    """A function of the parameter is not smooth over the uncertainty of the parameter."""


class TiedComponentsWarning(LDPWarning):
    """Neighbouring eigenvalues cannot be told apart, nor then their components."""


class WeakCurvatureWarning(LDPWarning):
    """The Hessian is known too badly in some direction for a Wald region to be relied on."""


class LostCurvatureWarning(LDPWarning):
    """Answers about curvature tell much less of it than scores do: clipping has taken it."""


class WeakPrivacyWarning(LDPWarning):
    """The privacy parameters protect nobody."""


class SeedWarning(LDPWarning):
    """Noise of the same seed is drawn twice: by copies of a client, or for groups to compare."""


def warn(text: str, category: type[LDPWarning] = LDPWarning) -> None:
    """Warn at the line of the caller's own code, however deep in this package the reason is.

    Parameters
    ----------
    text : str
    category : type of LDPWarning, default=LDPWarning
    """
    frame: FrameType | None = sys._getframe(1)
    level = 2  # of that frame
    while frame is not None and frame.f_globals.get("__name__", "").startswith("geomstats_ldp."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
