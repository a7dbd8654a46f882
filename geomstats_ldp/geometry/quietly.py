"""Import geomstats without its side effect on logging.

Importing geomstats gives the root logger a handler and the level INFO, which floods the log of any
program that has loggers of its own. What the root logger was before is put back.
"""

from __future__ import annotations

import logging

_root = logging.getLogger()
_handlers, _level = _root.handlers[:], _root.level
import geomstats._logging  # noqa: E402, F401

_root.handlers[:] = _handlers
_root.setLevel(_level)
