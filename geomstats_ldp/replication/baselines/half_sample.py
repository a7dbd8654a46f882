"""Baseline (b): half of the participants estimate, the other half probe about the estimate."""

from __future__ import annotations

from collections.abc import Sequence

from geomstats_ldp.exceptions import ProtocolError
from geomstats_ldp.geometry import region_of_queries
from geomstats_ldp.mechanisms.streams import Seed
from geomstats_ldp.protocol import GainRule, Protocol
from geomstats_ldp.replication.baselines.base import BaselineEstimator
from geomstats_ldp.replication.baselines.emulation import BaselineRun
from geomstats_ldp.replication.baselines.gains import ProbeRadius


class HalfSampleProbes(BaselineEstimator):
    r"""Averaged recursion on the first half, public probes about its estimate on the second.

    Of n participants the first m = floor(n/2) each answer one query at the current iterate; the
    average a of the iterates is the estimate. The others each answer one probe at
    :math:`R_a(\pm h B_a e_j)`, in the cycle e_1, ..., e_d, -e_1, ..., -e_d. Their messages,
    transported to a, are regressed on the displacements :math:`\mathrm{Log}_a` of the probes
    (section 5.1 of the paper). The region is scaled by m.

    Parameters
    ----------
    protocol : Protocol
        Public record: space, loss, mechanism, working region, retraction, frame, initial point,
        preconditioner and Hessian bound are taken from it. Its query directions and radius, rounds
        and planned number of participants have no part here.
    probe_radius : float or ProbeRadius
        Public radius h of the probes; a float is the same for every number of participants.
    gain : GainRule, optional
        Gain per participant and step cap, see `reduced_gain`. Default that of the protocol.
    checkpoints : sequence of int, optional
        Increasing numbers of participants at which to report, the last that of all rows. Default
        only the last.
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
    Where the second half begins depends on n, so a collection must be planned for one n. Several
    checkpoints emulate several collections on the same rows and noise: each participant answers
    once in each. Only the emulation shares work; the fit at n is that of the first n rows alone.

    Probes may lie outside the region for which the score bound of the mechanism was computed. A
    participant then shortens a longer score, so the guarantee holds, at the price of a bias in the
    Hessian.

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats_ldp import PrivatePCA
    >>> from geomstats_ldp.replication.baselines import HalfSampleProbes
    >>> pca = PrivatePCA(norm_bound=2.0, epsilon=8.0, initial_point=[0.3, 1.0, 0.3]).start()
    >>> X = np.random.default_rng(0).normal(size=(8000, 3)) * [0.2, 0.9, 0.3]
    >>> fitted = HalfSampleProbes(pca.protocol_, probe_radius=0.4, random_state=0).fit(X)
    >>> fitted.diagnostics_["n_estimate"], fitted.diagnostics_["n_regression"]
    (4000, 4000)
    """

    def __init__(
        self,
        protocol: Protocol,
        probe_radius: ProbeRadius,
        gain: GainRule | None = None,
        *,
        checkpoints: Sequence[int] | None = None,
        engine: str = "auto",
        random_state: Seed = None,
    ):
        self.protocol = protocol
        self.probe_radius = probe_radius
        self.gain = gain
        self.checkpoints = checkpoints
        self.engine = engine
        self.random_state = random_state

    def _split(self, n):
        return n // 2, n // 2

    def _make_run(self, totals):
        rule = self.probe_radius
        rule = rule if isinstance(rule, ProbeRadius) else ProbeRadius(self._check_number(rule))
        radii = [rule.at(n) for n in totals]
        # Past the injectivity radius the displacement of a probe would not be its logarithm.
        region_of_queries(self.protocol.geometry, self.protocol.working_region, max(radii))
        halves = [self._split(n)[0] for n in totals]
        return BaselineRun(self.protocol, self._gain(), halves, halves, totals, radii, self.engine)

    @staticmethod
    def _check_number(radius):
        try:
            return float(radius)
        except (TypeError, ValueError) as error:
            raise ProtocolError(
                f"probe_radius must be a number or a ProbeRadius; got {radius!r}"
            ) from error

    def _anchors(self, checkpoints):
        return checkpoints.estimates
