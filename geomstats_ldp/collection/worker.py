"""What uvicorn starts: one worker, told by environment variables where its database is."""

from __future__ import annotations

import os

from geomstats_ldp.collection.app import make_app
from geomstats_ldp.collection.commands import DATABASE
from geomstats_ldp.collection.course import stage_after
from geomstats_ldp.collection.service import Service
from geomstats_ldp.collection.study import summarise
from geomstats_ldp.collection.tables import connect

#: Environment variable with the rate of one client.
CLIENT_RATE = "GEOMSTATS_LDP_CLIENT_RATE"


def make_worker():
    """Application of a worker."""
    service = Service(connect(os.environ[DATABASE]), stage_after=stage_after)
    return make_app(service, summarise, float(os.environ[CLIENT_RATE]))
