"""The emulating half of an estimator: one participant for each row of data in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from geomstats_ldp.emulation import emulate, emulate_blocks
from geomstats_ldp.emulation_in_rounds import emulate_blocks_in_rounds, emulate_in_rounds
from geomstats_ldp.estimators import notices
from geomstats_ldp.estimators.collecting import Collecting
from geomstats_ldp.estimators.rows import unquoted
from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.losses import loss_of
from geomstats_ldp.losses.rows import clip_data
from geomstats_ldp.protocol.groups import group_numbers
from geomstats_ldp.validation import check_integer

if TYPE_CHECKING:
    from typing_extensions import Self


class Emulating(Collecting):
    """Collection whose participants are emulated; what holds data is here and nowhere else."""

    def fit(self, X: ArrayLike, y: Any = None, groups: ArrayLike | None = None) -> Self:
        """Emulate one participant per row, in row order, from the start.

        Parameters
        ----------
        X : array-like, shape [n_participants, *data_shape]
            Raw data. Each row is seen by the code of its own participant only, which clips it to
            the public bounds and releases one message. A memory map of floats is read block by
            block.
        y : array-like, shape [n_participants], optional
            Raw targets of a regression, which the code of a participant sees with the row; ignored
            by other estimators.
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
        data = self._rows(X, y)
        self._check_known_shape("X", data)
        server = self._new_server(self._make_protocol(self._n_features_of(data), len(data)))
        run = emulate, emulate_in_rounds
        clipping = self._run(*run, server, data, groups, len(data))
        validate_data(self, X, reset=True, skip_check_array=True)
        return self._adopt_fitted(server, clipping)

    def _rows(self, X, y):
        """Data that scikit-learn would take, each row with its target if there is one."""
        return self._check_rows(X, dtype=[np.float64, np.float32])

    def _n_features_of(self, rows):
        return rows.shape[1] - self._n_targets

    def _fit_rows(self, rows):
        """Fit to data, each row with its target if there is one."""
        return self.fit(rows)

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
        run = in_pairs if server.protocol.rounds is None else in_rounds
        return run(server, data, *options, numbers)

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

    # ---------------------------------------------------------------- rows

    def _check_rows(self, X, reset=True, dtype=np.float64):
        options = {"dtype": dtype, "allow_nd": True}
        if not reset:
            return unquoted("X", validate_data, self, X, reset=False, **options)
        options |= {"input_name": "X", "ensure_min_features": self._min_features}
        return unquoted("X", check_array, X, estimator=self, **options)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Minus the mean loss of the rows at the estimate.

        For principal directions that is half the mean squared length of the rows' projections, for
        a covariance matrix the Gaussian log-likelihood of a row plus m log(2 pi) / 2. Rows are not
        clipped, so that a search over bounds of the data compares one loss.

        Parameters
        ----------
        X : array-like, shape [n, *data_shape]
        y : None
            Ignored.

        Returns
        -------
        score : float
        """
        check_is_fitted(self, "server_")
        rows = self._check_rows(X, reset=False)
        return -self._mean_loss(self._coordinates().to_internal(rows))

    def _mean_loss(self, rows):
        """Mean loss of rows at the estimate, without bounds: these differ between candidates."""
        geometry, loss = self.protocol_.geometry, loss_of(self.protocol_)
        rows = loss.check_data(geometry, rows)
        if not loss.clips:
            rows = clip_data(loss, geometry, rows)  # which only gives them the length of one
        return float(np.mean(loss.value(geometry, self.server_.estimate(), rows)))
