# %% [markdown]
# # A study of 2,000 devices, against a running service
#
# Before people are asked, let simulated devices answer the very service that will ask them. They
# draw as devices do; only the data are made up. This notebook goes from the study file to a
# picture of how the region shrinks, with [the commands](../docs/running_it.md) of a real study.

# %%
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import matplotlib.pyplot as plt
import numpy as np

from geomstats_ldp import PrivatePCA, Transcript
from geomstats_ldp.collection.rehearsal import Habits, Rehearsal

folder = Path(tempfile.mkdtemp())
study = """
estimator = "PrivatePCA"
[parameters]
norm_bound = 2.0
epsilon = 4.0
initial_point = [0.3, 1.0, 0.3]
n_participants = 1500
n_rounds = 6
[service]
lease_seconds = 4
time_precision_seconds = 1
"""
(folder / "STUDY.toml").write_text(study)


def collect(*arguments):
    """Run a command of ``geomstats-ldp collect``, and return what it prints."""
    command = [sys.executable, "-m", "geomstats_ldp", "collect", *arguments]
    return subprocess.run(command, cwd=folder, check=True, stdout=-1, text=True).stdout


made = collect("new", "STUDY.toml")
print(made[: made.index("admin key")])
links = collect("invite", "--count", "2000").split()
print(links[0].partition("&")[0], "...")

# %% [markdown]
# ## People answer
#
# The study waits for 1,500 answers and invites 2,000 people, as some will not answer: a tenth
# drops out after the question, and a tenth answers only after the lease. `Rehearsal` lets them all
# go through eight connections.

# %%
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = str(free.getsockname()[1])
serving = [sys.executable, "-m", "geomstats_ldp", "collect", "serve", "--client-rate", "1e6"]
service = subprocess.Popen([*serving, "--port", port], cwd=folder, stdout=subprocess.DEVNULL)
url = f"http://127.0.0.1:{port}"
for _ in range(600):
    try:
        httpx.get(f"{url}/v1/status")
        break
    except httpx.TransportError:
        time.sleep(0.1)

rng = np.random.default_rng(0)
people = rng.normal(size=(2000, 3)) @ np.diag([0.4, 1.2, 0.6])  # what no server knows
tokens = [link.partition("#token=")[2].partition("&")[0] for link in links]
outcome = Rehearsal(url, tokens, people, Habits(dropout=0.1, late=0.1)).run()
print(len(outcome.acknowledged), "reports were acknowledged")
print(collect("status"))

# %% [markdown]
# ## The service goes down, and nothing is lost
#
# Killing it is as good as stopping it: all that was acknowledged is on the disk. Result and
# transcript are computed from the database.

# %%
service.kill()
service.wait()
print(collect("result"))
print(collect("export"))
sorted(os.listdir(folder))

# %% [markdown]
# ## How the region shrinks, round by round
#
# The transcript holds all messages, and after how many of them each round was closed. What the
# analyst knew at each closing is what comes of the messages up to there.

# %%
transcript = Transcript.load(folder / "transcript.npz")
truth = np.array([0.0, 1.0, 0.0])
ends = transcript.closings.tolist()
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
radii, errors = [], []
for number, end in enumerate(ends, start=1):
    known = Transcript(
        transcript.protocol,
        transcript.messages[:end],
        transcript.addresses[:end],
        transcript.closings[:number],
    )
    pca = PrivatePCA().partial_fit(known)
    region = pca.confidence_region(0.95)
    radii.append(np.degrees(region.angular_radii[0]))
    errors.append(np.degrees(np.arccos(min(abs(pca.estimate_ @ truth), 1.0))))
    edge = np.degrees(region.boundary(200) @ np.eye(3)[[0, 2]].T)
    closed = np.vstack([edge, edge[:1]])
    left.plot(
        *closed.T, color=plt.cm.viridis(number / len(ends)), label=f"round {number}, n = {end}"
    )
left.plot(0, 0, "k+", markersize=12, label="the direction behind the data")
left.set(title="95% regions", xlabel="first component, degrees", ylabel="third component, degrees")
left.legend(fontsize="small")
right.plot(ends, radii, "o-", label="largest semi-axis")
right.plot(ends, errors, "s--", label="error")
right.set(title="Round by round", xlabel="answers", ylabel="degrees", xscale="log", yscale="log")
right.legend()
print("largest semi-axis, degrees:", np.round(radii, 1))
