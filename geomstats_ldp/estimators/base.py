"""What every private estimator shares: collecting messages and turning a state into inference."""

from __future__ import annotations

import warnings
from abc import abstractmethod

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from geomstats_ldp.emulation import emulate
from geomstats_ldp.exceptions import (
    FewParticipantsWarning,
    HessianFloorWarning,
    NotReadyError,
    ProtocolError,
    SafeguardWarning,
    UninformativeRegionWarning,
)
from geomstats_ldp.inference import WaldRegion, estimate_sandwich
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import Message, Transcript
from geomstats_ldp.server import Server, window
from geomstats_ldp.server.recursion import LAST_SAFEGUARD, N_CAPPED, N_PROJECTED

#: A safeguard that acts in this last part of a run has not become inactive.
_LATE = 0.9


class BasePrivateEstimator(BaseEstimator):
    """Base of the estimators; subclasses say how parameters become a protocol.

    Attributes
    ----------
    protocol_ : Protocol
        Everything public about the collection.
    server_ : Server
        State of the collection.
    """

    #: Fewest columns of two-dimensional data that the model makes sense for.
    _min_features = 1

    @abstractmethod
    def _make_protocol(self, n_features, n_participants):
        """Protocol for data of the given width and planned number of participants."""

    # ---------------------------------------------------------------- collecting

    def fit(self, X, y=None):
        """Emulate one participant per row, in row order, from the start.

        Parameters
        ----------
        X : array-like, shape [n_participants, n_features]
            Raw data. Each row is seen by the code of its own participant only, which clips it to
            the public bounds and releases one message.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        data = self._check_rows(X)
        protocol = self._make_protocol(data.shape[1], len(data))
        server = Server(protocol, engine=self.engine)
        messages = emulate(
            server,
            data,
            self.random_state,
            keep_messages=self.keep_transcript,
            progress=self.verbose,
        )
        validate_data(self, X, reset=True, skip_check_array=True)
        self._adopt(server)
        self._messages = [messages] if self.keep_transcript else []
        self._warn_if_few()
        return self

    def partial_fit(self, messages, y=None):
        """Consume private messages.

        Parameters
        ----------
        messages : Message, list of Message, Transcript, or array-like [n, n_features]
            Message objects answer the open `queries` and are checked strictly. A transcript must
            be of this very protocol. Row i of a plain array answers the i-th query from here on,
            that is, it replays a run; rows are projected to the tangent space of their query.
            After `fit` an array continues past the rows `fit` planned for.
        y : None
            Ignored.

        Returns
        -------
        self : object

        Raises
        ------
        MessageError
            If a message is refused. The state is what it was before the call.
        """
        if isinstance(messages, Message) or _is_message_list(messages):
            self._require_started()
            self.server_.receive(messages)
            self._keep_completed(messages)
        elif isinstance(messages, Transcript):
            self._replay_transcript(messages)
        else:
            self._replay_rows(messages)
        self._refresh()
        return self

    def _replay_rows(self, messages):
        first = not hasattr(self, "server_")
        rows = self._check_rows(messages, reset=first)
        if first:
            server = Server(self._make_protocol(rows.shape[1], self.n_participants), self.engine)
            server.replay(rows)
            validate_data(self, messages, reset=True, skip_check_array=True)
            self._adopt(server)
            self._messages = []
        else:
            if self.n_participants is None and self.server_.round_size() == 0:
                self._extend()
            self.server_.replay(rows)
        if self.keep_transcript and self._messages is not None:
            self._messages.append(rows)

    def _extend(self):
        """Go on past the plan that `fit` made; the transcript of that plan ends there."""
        self.server_.extend()
        self.protocol_ = self.server_.protocol
        self._messages = None

    def _replay_transcript(self, transcript):
        server = getattr(self, "server_", None) or Server(transcript.protocol, self.engine)
        if server.protocol != transcript.protocol:
            raise ProtocolError(
                f"transcript is of protocol {transcript.protocol.fingerprint[:12]}, this "
                f"estimator of {server.protocol.fingerprint[:12]}"
            )
        server.replay(transcript.messages)
        if not hasattr(self, "server_"):
            self._adopt(server)
            self._messages = []
        if self.keep_transcript and self._messages is not None:
            self._messages.append(transcript.messages)

    def start(self, n_features=None):
        """Fix the protocol and open the collection, before any message.

        Parameters
        ----------
        n_features : int, optional
            Width of the data; not needed when a parameter such as `initial_point` fixes it.

        Returns
        -------
        self : object
        """
        n_features = self._known_width() if n_features is None else n_features
        if n_features is None:
            raise ProtocolError(
                "n_features is not known yet: pass it to start(), or set initial_point"
            )
        self._adopt(Server(self._make_protocol(int(n_features), self.n_participants), self.engine))
        self._messages = []
        return self

    def _known_width(self):
        """Width of the data if the parameters fix it."""
        return None

    def queries(self):
        """Open queries, one for each participant of the current round not heard from yet.

        Returns
        -------
        queries : list of Query
            Empty when all planned participants have answered.
        """
        self._require_started()
        return self.server_.queries()

    def participant(self):
        """Client code for one participant's own device; it pickles.

        Returns
        -------
        participant : Participant
            With ``random_state=None`` it takes its noise from the operating system. A seeded
            estimator, for simulation, gives the draws that `fit` would use, in the same order.
        """
        self._require_started()
        return Participant(self.protocol_, random_state=self.random_state)

    # ---------------------------------------------------------------- checkpoints

    def save_state(self, path):
        """Write the state of the collection, the open round included, without pickle."""
        self._require_started()
        self.server_.save(path)

    def load_state(self, path):
        """Continue a collection that `save_state` wrote; replaces any state of this estimator.

        Returns
        -------
        self : object
        """
        self._adopt(Server.load(path))
        self._messages = None
        return self

    @property
    def transcript_(self):
        """Public record of the run; needs ``keep_transcript=True``.

        Messages of a round that is still open are not in it.
        """
        check_is_fitted(self, "server_")
        if not self.keep_transcript or self._messages is None:
            raise NotReadyError("transcript_ needs keep_transcript=True from the first message on")
        shape = self.protocol_.geometry.shape
        messages = np.concatenate([np.empty((0, *shape)), *self._messages])
        return Transcript(self.protocol_, messages)

    # ---------------------------------------------------------------- inference

    def confidence_region(self, level=0.95):
        """Wald confidence region of the parameter.

        Parameters
        ----------
        level : float in (0, 1), default=0.95

        Returns
        -------
        region : WaldRegion

        Raises
        ------
        NotReadyError
            If too few participants have answered for the regression.

        Warns
        -----
        HessianFloorWarning, SafeguardWarning, UninformativeRegionWarning
        """
        check_is_fitted(self, "server_")
        sandwich = self._sandwich()
        region = WaldRegion(
            self.protocol_.geometry,
            self.estimate_,
            sandwich.covariance,
            level,
            self.protocol_.working_region,
        )
        self._warn_about(sandwich, region)
        return region

    def _sandwich(self):
        check_is_fitted(self, "server_")
        return estimate_sandwich(self.server_.state, self.protocol_)

    @property
    def covariance_(self):
        """Covariance of the estimate in frame coordinates, shape [dim, dim]; divided by n."""
        return self._sandwich().covariance

    @property
    def hessian_(self):
        """Estimated Hessian of the population loss in frame coordinates, shape [dim, dim]."""
        return self._sandwich().hessian

    @property
    def score_covariance_(self):
        """Estimated covariance of one released score, shape [dim, dim]."""
        return self._sandwich().score_covariance

    @property
    def diagnostics_(self):
        """How the run went: counts, safeguards, and the regression once there is one."""
        check_is_fitted(self, "server_")
        server, counts = self.server_, self.server_.state.counts
        n_directions = len(self.protocol_.directions)
        report = {
            "engine": server.engine.name,
            "n_participants": server.n_participants,
            "n_pending": len(server.pending),
            "n_pairs": server.n_pairs,
            "n_regression_pairs": int(
                window(server.state.sums, server.n_pairs, n_directions).n_pairs
            ),
            "n_capped_updates": int(counts[N_CAPPED]),
            "n_projected_updates": int(counts[N_PROJECTED]),
            "last_safeguard": int(counts[LAST_SAFEGUARD]),
        }
        try:
            sandwich = self._sandwich()
        except NotReadyError:
            return report
        return report | {
            "gram_condition_number": float(np.linalg.cond(sandwich.regression.gram)),
            "hessian_floor": sandwich.hessian_floor,
            "hessian_floor_active": sandwich.hessian_floor_active,
            "hessian_bound_active": sandwich.hessian_bound_active,
            "guard": sandwich.guard,
        }

    # ---------------------------------------------------------------- internals

    def _check_rows(self, X, reset=True):
        if not reset:
            return validate_data(self, X, reset=False, dtype=np.float64)
        return check_array(
            X,
            estimator=self,
            input_name="X",
            dtype=np.float64,
            ensure_min_features=self._min_features,
        )

    def _require_started(self):
        if not hasattr(self, "server_"):
            self.start()

    def _keep_completed(self, messages):
        """Append to the transcript what the last call completed, in the order of the queries."""
        if not self.keep_transcript or self._messages is None:
            return
        self._open_messages = getattr(self, "_open_messages", {})
        batch = [messages] if isinstance(messages, Message) else messages
        self._open_messages.update({message.index: message.tangent_vec for message in batch})
        if not self.server_.pending:
            rows = [self._open_messages[index] for index in sorted(self._open_messages)]
            self._messages.append(np.array(rows))
            self._open_messages = {}

    def _adopt(self, server):
        self.server_ = server
        self.protocol_ = server.protocol
        self.n_features_in_ = int(np.prod(server.protocol.geometry.shape))
        self._refresh()

    def _refresh(self):
        self.estimate_ = self.server_.state.average.copy()
        self.n_participants_ = self.server_.n_participants

    def _warn_if_few(self):
        cycle = 2 * len(self.protocol_.directions)
        if self.n_participants_ < cycle:
            warnings.warn(
                f"{self.n_participants_} participants do not fill one cycle of "
                f"{cycle} query directions; no confidence region can be given",
                FewParticipantsWarning,
                stacklevel=3,
            )

    def _warn_about(self, sandwich, region):
        if sandwich.hessian_floor_active:
            warnings.warn(
                "an eigenvalue of the estimated Hessian is under its floor "
                f"{sandwich.hessian_floor:.3g}; the region is conservative. More participants or "
                "a larger epsilon would help",
                HessianFloorWarning,
                stacklevel=3,
            )
        last = int(self.server_.state.counts[LAST_SAFEGUARD])
        if last > _LATE * self.n_participants_:
            warnings.warn(
                f"the step cap or the projection still acted at participant {last} of "
                f"{self.n_participants_}; a larger region_radius or epsilon would help",
                SafeguardWarning,
                stacklevel=3,
            )
        if not region.is_informative:
            warnings.warn(
                "the confidence region reaches the edge of the working region, which says "
                "little about the parameter; more participants or a larger epsilon would help",
                UninformativeRegionWarning,
                stacklevel=3,
            )


def _is_message_list(messages):
    return (
        isinstance(messages, (list, tuple))
        and len(messages) > 0
        and all(isinstance(message, Message) for message in messages)
    )
