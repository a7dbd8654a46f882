"""The collecting half of an estimator: open a collection, ask, and keep its state."""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from geomstats_ldp.estimators import notices
from geomstats_ldp.estimators.tuning import Tuning, check_tuning
from geomstats_ldp.exceptions import NotReadyError, ProtocolError
from geomstats_ldp.losses import Loss, loss_of
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import (
    AmplifiedGuarantee,
    Protocol,
    Query,
    Transcript,
    amplified_guarantee,
)
from geomstats_ldp.server import load_server, make_server
from geomstats_ldp.validation import check_integer, check_shape, real_array, shape_text

if TYPE_CHECKING:
    from typing_extensions import Self

#: Value of a parameter that scouts are to find.
SCOUT = "scout"

#: Held while a collection is opened on demand: threads that come together open one.
_STARTING = threading.RLock()


class Collecting:
    """Mixin that holds a `Server` and asks; subclasses say what the protocol is."""

    tuning: Tuning | None
    random_state: Seed
    verbose: bool
    n_participants: int | None
    protocol_: Protocol
    server_: Any

    #: Fewest columns of two-dimensional data that the model makes sense for.
    _min_features = 1

    #: Targets that a row of data has beside its features.
    _n_targets = 0

    #: Losses that a protocol of this estimator may have.
    _losses: Sequence[Loss | type[Loss]]

    #: Parameters that may be "scout".
    _scoutable: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def _make_protocol(self, width, n_participants):
        """Protocol for data of the given width and planned number of participants."""

    def _known_shape(self):
        """Shape of a datum if the parameters fix it, else None."""
        return self._shape_of_initial_point(("n",))

    def _refuse_scouts(self):
        """Raise ProtocolError if a parameter is "scout" that scouts cannot find."""
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, str) and value == SCOUT and name not in self._scoutable:
                raise ProtocolError(
                    f"{name} of {type(self).__name__} must not be {SCOUT!r}: scouts find "
                    "norm_bound and initial_point of PrivatePCA, and initial_point of "
                    "PrivateVMFLocation"
                )

    def _shape_of_initial_point(self, shape):
        """Shape of `initial_point`, which must be as for `check_shape`; None if it is not given."""
        self._refuse_scouts()
        if self.initial_point is None:
            return None
        point = real_array("initial_point", self.initial_point)
        check_shape("initial_point", point, shape)
        return point.shape

    def _known_width(self):
        """Width of the data if the parameters fix it, else None."""
        shape = self._known_shape()
        return None if shape is None else shape[0] - self._n_targets

    def _check_known_shape(self, name, rows):
        """Blame rows, not the parameters that stand for all of them, where the two differ."""
        known = self._known_shape()
        if known is not None and rows.shape[1:] != known:
            source = "initial_point" if getattr(self, "space", None) is None else "space"
            wanted = shape_text(("n", *known))
            raise ProtocolError(
                f"{name} must have shape {wanted} to fit {source}; got {rows.shape}"
            )

    def _to_internal(self, X):
        """Data in the coordinates that the protocol computes in."""
        return X

    # ---------------------------------------------------------------- interactive

    def start(self, n_features: int | None = None) -> Self:
        """Fix the protocol and open the collection, before any message.

        Parameters
        ----------
        n_features : int, optional
            Width of the data; not needed when a parameter such as `initial_point` fixes it.

        Returns
        -------
        self : object

        Raises
        ------
        ProtocolError
            If the width is not known, or naming the parameter that does not fit.
        """
        known, width = self._known_width(), None
        if n_features is not None:
            width = check_integer("n_features", n_features)
            if known not in (None, width):
                raise ProtocolError(
                    f"n_features must be {known} to fit initial_point or space; got {width}"
                )
        else:
            width = getattr(self, "n_features_in_", None) if known is None else known
        if width is None:
            raise ProtocolError(
                "n_features is not known yet: pass it to start(), or set initial_point"
            )
        self._adopt(self._new_server(self._make_protocol(width, self.n_participants)))
        self._forget_names()
        return self

    def queries(self, n: int | None = None, group: str | None = None) -> list[Query]:
        """Open queries, one for each participant of the current round not heard from yet.

        Parameters
        ----------
        n : int, optional
            How many to deal, of a collection in rounds: more than there are answers to wait for,
            where people drop out. Default as many as are waited for.
        group : str, optional
            Name of the group of the people who are asked, where `epsilon` has groups.

        Returns
        -------
        queries : list of Query
            Empty when all planned participants have answered, or all rounds are closed, or while a
            pair of another group waits for its second answer.

        Raises
        ------
        ProtocolError
            If there is no such group, or `n` is given in a collection in pairs.
        """
        self._require_started()
        if n is None and self.protocol_.rounds is None:
            return self.server_.queries(group)
        self._require_rounds("queries(n)")
        return self.server_.queries(n, group)

    def close_round(self) -> Self:
        """Close the open round of a collection in rounds, on a deadline for instance.

        The next round asks around the estimate of this moment. Answers that come later still
        count.

        Returns
        -------
        self : object

        Raises
        ------
        NotReadyError
            If all rounds are closed, or too few have answered in this one.
        ProtocolError
            If the collection asks pairs.
        """
        self._require_started()
        self._require_rounds("close_round()")
        self.server_.close_round()
        self._refresh()
        return self

    def _require_rounds(self, what):
        if self.protocol_.rounds is None:
            raise ProtocolError(f"{what} needs a collection in rounds; set n_rounds")

    def amplified_guarantee(self, delta: float) -> AmplifiedGuarantee:
        """Central guarantee of the reports, if they come through a shuffler.

        No claim without one: whoever sees who sent which report has the local guarantee only.

        Parameters
        ----------
        delta : float in (0, 1)
            Far below one over the number of people.

        Returns
        -------
        guarantee : AmplifiedGuarantee
            Of the answers so far, or of the plan if nobody has answered; ``print`` says what it
            assumes: late answers, for one, count here as if they had been in the batch of their
            question, and do not hide in it if that was used before they came.

        Raises
        ------
        ProtocolError
            If the collection asks pairs, a mechanism has no pure guarantee, or no number of
            participants is planned and nobody has answered.
        NotReadyError
            If there are groups, and nobody of one has answered.
        """
        self._require_started()
        self._require_rounds("amplified_guarantee()")
        counts = self.server_.state.counts if self.server_.n_participants else None
        return amplified_guarantee(self.protocol_, delta, counts)

    def participant(self, group: str | None = None) -> Participant:
        """Client for the device of one participant, who answers once; it can be pickled.

        Parameters
        ----------
        group : str, optional
            Name of the group that they are in, where `epsilon` has groups. A seeded participant,
            for simulation, may leave it open.

        Returns
        -------
        participant : Participant
            With ``random_state=None`` it takes its noise from the operating system. A seeded
            estimator, for simulation, gives the draws that `fit` would use in pairs, in the same
            order; `fit` in rounds draws block by block.

        Warns
        -----
        SeedWarning
            If the estimator is seeded, which is no good for people.
        """
        self._require_started()
        notices.warn_if_seeded(self.random_state)
        return Participant(
            self.protocol_,
            fingerprint=self.protocol_.fingerprint,
            group=group,
            random_state=self.random_state,
        )

    # ---------------------------------------------------------------- checkpoints

    def save_state(self, path: str | os.PathLike | BinaryIO) -> None:
        """Write the state of the collection, the open round included, without pickle.

        Parameters
        ----------
        path : path-like or binary file
        """
        self._require_started()
        self.server_.save(path)

    def load_state(self, path: str | os.PathLike | BinaryIO) -> Self:
        """Continue a collection that `save_state` wrote; replaces any state of this estimator.

        The protocol and the engine in the file decide, whatever the parameters of this estimator
        are; only the loss must be one of this estimator. Messages from before are not in it, so
        there is no transcript. The answers that were received are: those of an open round as well.
        Questions that were dealt and not answered are dealt again, and answers to them from before
        are taken too.

        Parameters
        ----------
        path : path-like or binary file

        Returns
        -------
        self : object

        Raises
        ------
        ProtocolError
            If the file holds a collection for another loss.
        """
        return self._continue(load_server(path))

    def _continue(self, server):
        """Go on with a server, in place of any state of this estimator."""
        self._check_model(server.protocol)
        self._adopt(server)
        self._forget_names()
        return self

    @property
    def transcript_(self) -> Transcript:
        """Public record of the run; needs ``Tuning(keep_transcript=True)``.

        Messages of a round of pairs that is still open are not in it.
        """
        check_is_fitted(self, "server_")
        transcript = self.server_.transcript()
        if transcript is None:
            raise NotReadyError(
                "transcript_ needs Tuning(keep_transcript=True) from the first message on, and "
                "ends where a run is extended past its plan, or states of workers are merged"
            )
        return transcript

    # ---------------------------------------------------------------- internals

    def _new_server(self, protocol):
        tuning = check_tuning(self.tuning)
        engine = _engine_for(tuning.engine, protocol)
        return make_server(protocol, engine, keep_messages=tuning.keep_transcript)

    def _check_model(self, protocol):
        name, known = protocol.loss_spec["name"], tuple(loss.name for loss in self._losses)
        if name not in known:
            raise ProtocolError(
                f"protocol must have a loss of {type(self).__name__}, one of {known}; got {name!r}"
            )

    def _require_started(self):
        if not hasattr(self, "server_"):
            with _STARTING:
                if not hasattr(self, "server_"):
                    self.start()

    def _forget_names(self):
        """Feature names belong to data, and none have been seen."""
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _adopt(self, server, planned_by_fit=False):
        if hasattr(self, "server_") and not self._planned_by_fit:
            notices.warn_if_discarded(self.server_)
        self.server_ = server
        self._planned_by_fit = planned_by_fit
        # What clipping did in an emulation, and the participants when fit() spoke of safeguards.
        self._clipping = self._n_warned_of = None
        self.protocol_ = server.protocol
        self.n_features_in_ = self._width()
        self._refresh()

    def _width(self):
        """Second dimension of the data of the current protocol."""
        return self.protocol_.user_coordinates.space.shape[0]

    @property
    def estimate_(self) -> np.ndarray:
        """The estimate, from the messages received so far."""
        check_is_fitted(self, "server_")
        return self._coordinates().from_internal(self.server_.estimate())

    def _refresh(self):
        self.n_participants_ = self.server_.n_participants

    def _coordinates(self):
        """Coordinates of the user, in which parameters go in and out."""
        return self.protocol_.user_coordinates


def _engine_for(engine, protocol):
    """The engine asked for; "auto" compiles where the loss has closed forms as well."""
    if engine == "geomstats" or loss_of(protocol).twin() is not None:
        return engine
    if engine == "compiled":
        raise ProtocolError(
            f"engine='compiled' has no closed forms for loss {protocol.loss_spec['name']!r}; "
            "use engine='auto'"
        )
    return "geomstats" if engine == "auto" else engine
