"""What an estimator does with messages that come as objects, transcripts or plain arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import validate_data

from geomstats_ldp.estimators.collecting import Collecting
from geomstats_ldp.exceptions import InvalidMessageError, ProtocolError
from geomstats_ldp.protocol import Message, Query, Transcript
from geomstats_ldp.validation import check_shape

if TYPE_CHECKING:
    from typing_extensions import Self

_Method = TypeVar("_Method", bound=Callable)


def _expects_messages(estimator):
    started = hasattr(estimator, "server_") and not estimator._planned_by_fit
    what = estimator._rows_and_messages
    if what is None or started or estimator.initial_point is not None:
        return True
    raise AttributeError(
        f"partial_fit takes {what}, so it is there only once a collection is open: call "
        "start(n_features), or set initial_point"
    )


#: Typed, as that of scikit-learn is not.
_once_open: Callable[[_Method], _Method] = available_if(_expects_messages)


class Receiving(Collecting):
    """Collection that consumes private messages."""

    #: What `partial_fit` and `fit` take, for an error, where messages have another shape than rows
    #: of data; there is no such method then until a collection is open.
    _rows_and_messages: ClassVar[str | None] = None

    @_once_open
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
            beforehand, with `n_participants`, is kept. Of regressions and covariance matrices,
            whose rows of data have another shape, there is this method once a collection is open.
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


def _is_message_list(messages):
    return isinstance(messages, (list, tuple)) and any(
        isinstance(message, Message) for message in messages
    )
