"""The collecting half of an estimator: emulate participants, or consume their messages."""

from __future__ import annotations

import itertools
import os
import threading
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from geomstats_ldp.emulation import emulate, emulate_blocks
from geomstats_ldp.emulation_in_rounds import emulate_blocks_in_rounds, emulate_in_rounds
from geomstats_ldp.estimators import notices
from geomstats_ldp.estimators.rows import unquoted
from geomstats_ldp.estimators.tuning import Tuning, check_tuning
from geomstats_ldp.exceptions import (
    InvalidMessageError,
    NotReadyError,
    ProtocolError,
)
from geomstats_ldp.losses import loss_of
from geomstats_ldp.losses.rows import clip_data
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import (
    AmplifiedGuarantee,
    Message,
    Protocol,
    Query,
    Transcript,
    amplified_guarantee,
)
from geomstats_ldp.protocol.groups import group_numbers
from geomstats_ldp.server import load_server, make_server
from geomstats_ldp.validation import check_integer, check_shape, real_array, shape_text

if TYPE_CHECKING:
    from typing_extensions import Self

#: Held while a collection is opened on demand: threads that come together open one.
_STARTING = threading.RLock()


class Collecting:
    """Mixin that holds a `Server` and feeds it; subclasses say what the protocol is."""

    tuning: Tuning | None
    random_state: Seed
    verbose: bool
    n_participants: int | None
    protocol_: Protocol
    server_: Any

    #: Fewest columns of two-dimensional data that the model makes sense for.
    _min_features = 1

    @abstractmethod
    def _loss_names(self):
        """Names of the losses that a protocol of this estimator may have."""

    @abstractmethod
    def _make_protocol(self, width, n_participants):
        """Protocol for data of the given width and planned number of participants."""

    def _known_shape(self):
        """Shape of a datum if the parameters fix it, else None."""
        return self._shape_of_initial_point(("n",))

    def _shape_of_initial_point(self, shape):
        """Shape of `initial_point`, which must be as for `check_shape`; None if it is not given."""
        if self.initial_point is None:
            return None
        point = real_array("initial_point", self.initial_point)
        check_shape("initial_point", point, shape)
        return point.shape

    def _known_width(self):
        """Width of the data if the parameters fix it, else None."""
        shape = self._known_shape()
        return None if shape is None else shape[0]

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

    # ---------------------------------------------------------------- emulation

    def fit(self, X: ArrayLike, y: Any = None, groups: ArrayLike | None = None) -> Self:
        """Emulate one participant per row, in row order, from the start.

        Parameters
        ----------
        X : array-like, shape [n_participants, *data_shape]
            Raw data. Each row is seen by the code of its own participant only, which clips it to
            the public bounds and releases one message. A memory map of floats is read block by
            block.
        y : None
            Ignored.
        groups : array-like of str, shape [n_participants], optional
            Public name of the group of each participant, where `epsilon` has groups.

        Returns
        -------
        self : object

        Raises
        ------
        ProtocolError
            If `groups` does not name one of the groups for each row.
        """
        data = self._check_rows(X, dtype=[np.float64, np.float32])
        self._check_known_shape("X", data)
        server = self._new_server(self._make_protocol(self._n_features_of(data), len(data)))
        clipping = self._emulate(server, data, groups)
        validate_data(self, X, reset=True, skip_check_array=True)
        return self._adopt_fitted(server, clipping)

    def _n_features_of(self, rows):
        """Features of a row, which may have a target beside them."""
        return rows.shape[1]

    def _fit_rows(self, rows):
        """Fit to data, each row with its target if there is one."""
        return self.fit(rows)

    def _emulate(self, server, data, groups):
        """Run the emulation of rows in memory, and return what clipping did."""
        return self._run(emulate, emulate_in_rounds, server, data, groups, len(data))

    def fit_blocks(
        self,
        blocks: Iterable[ArrayLike],
        n_participants: int | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Emulate one participant per row of data that come in blocks, read once and in order.

        The result is that of `fit` on all rows together, in memory that does not grow with their
        number.

        Parameters
        ----------
        blocks : iterable of array, shape [n_rows, *data_shape]
            Blocks of any sizes.
        n_participants : int, optional
            Number of rows in all, which decides radius and gain and so has to be known before
            the first of them. Default the parameter of the same name.
        groups : array-like of str, shape [n_participants], optional
            As for `fit`, for the rows of all blocks.

        Returns
        -------
        self : object

        Raises
        ------
        ProtocolError
            If another number of rows comes, or `groups` does not name one of the groups for each.
            The estimator is then what it was.
        """
        planned = self.n_participants if n_participants is None else n_participants
        if planned is None:
            raise ProtocolError("n_participants must be given, here or to the estimator; got None")
        check_integer("n_participants", planned)
        blocks = iter(blocks)
        first = next(blocks, None)
        if first is None:
            raise ProtocolError(f"blocks must hold {planned} rows; got no block at all")
        rows = self._check_rows(first)
        self._check_known_shape("blocks", rows)
        server = self._new_server(self._make_protocol(self._n_features_of(rows), planned))
        rows = self._counted(itertools.chain([first], blocks), planned)
        run = emulate_blocks, emulate_blocks_in_rounds
        clipping = self._run(*run, server, rows, groups, planned)
        self._forget_names()
        return self._adopt_fitted(server, clipping)

    def _run(self, in_pairs, in_rounds, server, data, groups, n_rows):
        """Run the emulation that suits the plan, and return what clipping did."""
        notices.warn_if_few(server.protocol, n_rows)
        options = self.random_state, self.verbose, self._to_internal
        numbers = group_numbers(server.protocol, groups, n_rows)
        if server.protocol.rounds is None:
            return in_pairs(server, data, *options)
        return in_rounds(server, data, *options, numbers)

    @staticmethod
    def _counted(blocks, planned):
        """Pass blocks on, and raise unless they hold the planned number of rows in all."""
        n_rows = 0
        for block in blocks:
            n_rows += len(block)
            if n_rows > planned:
                break
            yield np.asarray(block)
        if n_rows != planned:
            more = "or more" if n_rows > planned else "in all"
            raise ProtocolError(f"blocks must hold {planned} rows; got {n_rows} {more}")

    def _adopt_fitted(self, server, clipping):
        self._adopt(server, planned_by_fit=True)
        self._clipping = clipping
        notices.warn_if_cut(self.server_)
        self._n_warned_of = self.n_participants_
        if clipping.n_clipped > 0:
            self._warn_if_clipped()
        return self

    # ---------------------------------------------------------------- messages

    def partial_fit(
        self, messages: Message | Sequence[Message] | Transcript | ArrayLike, y: Any = None
    ) -> Self:
        """Consume private messages.

        Parameters
        ----------
        messages : Message, list of Message, Transcript, or array-like [n, *point_shape]
            Message objects answer the open `queries` and are checked strictly; none at all, of a
            round in which everybody drops out, change nothing. A transcript must
            be of this very protocol. Row i of a plain array is taken for the message that answers
            the i-th query from here on, projected to the tangent space there. Data go into `fit`,
            which randomises them: here nothing protects them, and a warning is all there is.
            After `fit` an array continues past the rows `fit` planned for; a plan that was made
            beforehand, with `n_participants`, is kept.
        y : None
            Ignored.

        Returns
        -------
        self : object

        Raises
        ------
        MessageError
            If a message is refused. The state is what it was before the call.

        Warns
        -----
        RawDataWarning
            If the rows of an array cannot be messages.
        """
        if isinstance(messages, (list, tuple, np.ndarray)) and np.shape(messages)[:1] == (0,):
            return self
        if isinstance(messages, Message) or _is_message_list(messages):
            self._require_started()
            self.server_.receive(messages)
        elif isinstance(messages, Transcript):
            self._replay_transcript(messages)
        elif isinstance(messages, (str, bytes, dict, Query)):
            raise InvalidMessageError(
                "messages must be a Message, a list of them, a Transcript or an array; got "
                f"{type(messages).__name__}. Message.from_json reads a text"
            )
        else:
            self._replay_rows(messages)
        self._refresh()
        return self

    def _replay_rows(self, messages):
        if not hasattr(self, "server_"):
            rows = self._check_rows(messages)
            server = self._new_server(self._make_protocol(rows.shape[1], self.n_participants))
            server.replay(rows)
            validate_data(self, messages, reset=True, skip_check_array=True)
            self._adopt(server)
            return
        with warnings.catch_warnings():
            # Messages are no features, so names they lack are not missing.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            # In Poincaré coordinates a message has one entry more than a point has features.
            as_features = self.n_features_in_ == self.protocol_.geometry.shape[0]
            rows = self._check_rows(messages, reset=not as_features)
        check_shape("messages", rows, ("n", *self.protocol_.geometry.shape), InvalidMessageError)
        self.server_.replay(rows, extend=self._planned_by_fit)
        self.protocol_ = self.server_.protocol

    def _replay_transcript(self, transcript):
        started = hasattr(self, "server_")
        self._check_model(transcript.protocol)
        server = self.server_ if started else self._new_server(transcript.protocol)
        if server.protocol != transcript.protocol:
            raise ProtocolError(
                f"transcript is of protocol {transcript.protocol.fingerprint[:12]}, this "
                f"estimator of {server.protocol.fingerprint[:12]}"
            )
        server.replay_transcript(transcript)
        if not started:
            self._adopt(server)

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
            Empty when all planned participants have answered, or all rounds are closed.

        Raises
        ------
        ProtocolError
            If there is no such group, or `n` is given in a collection in pairs.
        """
        self._require_started()
        if n is None and group is None and self.protocol_.rounds is None:
            return self.server_.queries()
        self._require_rounds("queries(n)" if group is None else "queries(group=...)")
        return self.server_.queries(n, group)

    def close_round(self) -> Self:
        """Close the open round of a collection in rounds, on a deadline for instance.

        The next round asks around the estimate of this moment. Answers that come later are taken
        all the same.

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
            estimator, for simulation, gives the draws that `fit` would use, in the same order.

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
        there is no transcript.

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
        server = load_server(path)
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

    def _check_rows(self, X, reset=True, dtype=np.float64):
        options = {"dtype": dtype, "allow_nd": True}
        if not reset:
            return unquoted("X", validate_data, self, X, reset=False, **options)
        options |= {"input_name": "X", "ensure_min_features": self._min_features}
        return unquoted("X", check_array, X, estimator=self, **options)

    def _new_server(self, protocol):
        tuning = check_tuning(self.tuning)
        engine = _engine_for(tuning.engine, protocol)
        return make_server(protocol, engine, keep_messages=tuning.keep_transcript)

    def _mean_loss(self, rows):
        """Mean loss of rows at the estimate, without bounds: these differ between candidates."""
        geometry, loss = self.protocol_.geometry, loss_of(self.protocol_)
        rows = loss.check_data(geometry, rows)
        if not loss.clips:
            rows = clip_data(loss, geometry, rows)  # which only gives them the length of one
        return float(np.mean(loss.value(geometry, self.server_.estimate(), rows)))

    def _check_model(self, protocol):
        name = protocol.loss_spec["name"]
        if name not in self._loss_names():
            raise ProtocolError(
                f"protocol must have a loss of {type(self).__name__}, one of "
                f"{self._loss_names()}; got {name!r}"
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
        return self.protocol_.geometry.shape[0]

    @property
    def estimate_(self) -> np.ndarray:
        """The estimate, from the messages received so far."""
        check_is_fitted(self, "server_")
        return self._from_internal(self.server_.estimate())

    def _refresh(self):
        self.n_participants_ = self.server_.n_participants

    def _from_internal(self, points):
        """Points in the coordinates of the user."""
        return points


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


def _is_message_list(messages):
    return isinstance(messages, (list, tuple)) and any(
        isinstance(message, Message) for message in messages
    )
