"""Time one answer of a device in a fresh process, beside the imports that it cannot do without.

    python docs/benchmarks/device.py            # half a minute

Times are processor seconds, medians over processes that take turns, so that a busy machine changes
neither side alone. An answer is all that a device does: import `Participant`, read a protocol and
a query from texts, make the participant, respond.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from geomstats_ldp import PrivatePCA

#: What everything rests on, and what a device does.
IMPORTS = "import geomstats, numba"
ANSWER = """
import sys
from geomstats_ldp.participant import Participant
from geomstats_ldp.protocol import Protocol, Query

protocol = Protocol.from_json(open(sys.argv[1]).read())
query = Query.from_json(open(sys.argv[2]).read())
print(Participant(protocol, max_epsilon=8.0).respond(query, [0.5] * 10).to_json())
"""


def processor_time(program, *arguments):
    """Processor seconds of a fresh process."""
    before = os.times()
    command = [sys.executable, "-c", program, *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return (after.children_user - before.children_user) + (
        after.children_system - before.children_system
    )


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=9)
    options = parser.parse_args(arguments)
    pca = PrivatePCA(epsilon=8.0, n_rounds=8, n_participants=8000).start(n_features=10)
    with tempfile.TemporaryDirectory() as folder:
        texts = Path(folder, "protocol"), Path(folder, "query")
        texts[0].write_text(pca.protocol_.to_json())
        texts[1].write_text(pca.queries()[0].to_json())
        times = [
            (processor_time(IMPORTS), processor_time(ANSWER, *texts))
            for _ in range(options.repetitions + 1)
        ]
    imports, answer = np.median(times[1:], axis=0)
    print("| fresh process | processor seconds |\n| --- | ---: |")
    print(f"| {IMPORTS} | {imports:.2f} |\n| one answer, d = 9, epsilon = 8 | {answer:.2f} |")
    print(f"\nratio {answer / imports:.2f}")


if __name__ == "__main__":
    main()
