"""Run the command line: ``python -m geomstats_ldp``."""

import sys

from geomstats_ldp.cli import main

if __name__ == "__main__":
    sys.exit(main())
