"""The analyst's side: recursion, regression sums and the interactive server."""

from geomstats_ldp.server.engine import ENGINES
from geomstats_ldp.server.recursion import State
from geomstats_ldp.server.regression import window
from geomstats_ldp.server.server import Server

__all__ = ["ENGINES", "Server", "State", "window"]
