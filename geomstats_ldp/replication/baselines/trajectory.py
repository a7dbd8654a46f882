"""Baseline (a): regression along the trajectory of the point recursion."""

from __future__ import annotations

from collections.abc import Sequence

from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.protocol import GainRule, Protocol
from geomstats_ldp.replication.baselines.base import BaselineEstimator
from geomstats_ldp.replication.baselines.emulation import BaselineRun


class SameTrajectoryRegression(BaselineEstimator):
    r"""One-query averaged recursion whose own path serves the Hessian regression.

    Every participant answers one query at the current iterate, and the estimate is the average of
    all iterates. The average after floor(n/3) participants is the anchor: the messages of the
    later ones, transported to it, are regressed on the displacements :math:`\mathrm{Log}` of their
    queries (section 5.1 of the paper). The region is scaled by n.

    Parameters
    ----------
    protocol : Protocol
        Public record: space, loss, mechanism, working region, retraction, frame, initial point,
        preconditioner and Hessian bound are taken from it. Its query directions and radius, rounds
        and planned number of participants have no part here.
    gain : GainRule, optional
        Gain per participant and step cap, see `offset_gain`. Default that of the protocol.
    checkpoints : sequence of int, optional
        Increasing numbers of participants at which to report, the last that of all rows. They
        share one run: each participant answers once. Default only the last.
    engine : {"auto", "compiled", "geomstats"}, default="auto"
    random_state : None, int, SeedSequence, Generator, RandomState or Streams, default=None
        None draws the noise from the operating system; a seed is for simulation only.

    Attributes
    ----------
    estimate_ : array, shape [*point_shape]
    fits_ : dict of int to BaselineFit
        By number of participants, one for each checkpoint.
    n_participants_ : int
    engine_ : {"compiled", "geomstats"}

    Notes
    -----
    The path excites the Hessian only as far as noise drives it, and less and less as the gain
    falls: the region undercovers where a direction stays unexcited. See ``docs/baselines.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats_ldp import PrivatePCA
    >>> from geomstats_ldp.replication.baselines import SameTrajectoryRegression
    >>> pca = PrivatePCA(norm_bound=2.0, epsilon=8.0, initial_point=[0.3, 1.0, 0.3]).start()
    >>> X = np.random.default_rng(0).normal(size=(8000, 3)) * [0.2, 0.9, 0.3]
    >>> fitted = SameTrajectoryRegression(pca.protocol_, random_state=0).fit(X)
    >>> fitted.diagnostics_["n_regression"]
    5334
    """

    def __init__(
        self,
        protocol: Protocol,
        gain: GainRule | None = None,
        *,
        checkpoints: Sequence[int] | None = None,
        engine: str = "auto",
        random_state: Seed = None,
    ):
        self.protocol = protocol
        self.gain = gain
        self.checkpoints = checkpoints
        self.engine = engine
        self.random_state = random_state

    def _split(self, n):
        return n // 3, n

    def _make_run(self, totals):
        starts = [self._split(n)[0] for n in totals]
        no_probes = [None] * len(totals)
        return BaselineRun(
            self.protocol, self._gain(), starts, totals, totals, no_probes, self.engine
        )

    def _anchors(self, checkpoints):
        return checkpoints.anchors
