# %% [markdown]
# # A collection, message by message
#
# `fit` emulates everybody in one process. In a real collection there are three parties:
#
# * the **protocol**, a public text that everybody has;
# * the **participants**, who each hold one datum and answer one query, once;
# * the **server**, which asks queries and receives messages, and never sees a datum.
#
# This notebook plays all three and keeps them apart.
#
# The question: how do people divide their waking day between *work*, *household* and *leisure*? A
# diary of a day gives three shares that sum to one. Their square roots are a unit vector, so that a
# day is a point of the sphere, and a typical day is a mean direction.

# %%
import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from geomstats_ldp import (
    Message,
    Participant,
    PrivateVMFLocation,
    Protocol,
    Query,
    Transcript,
    Tuning,
)
from geomstats_ldp.exceptions import MessageError
from geomstats_ldp.plotting import plot_on_sphere

n_participants = 1500
rng = np.random.default_rng(5)
shares = rng.dirichlet([5.0, 2.5, 6.5], size=n_participants)  # private, one row a person
days = np.sqrt(shares)
names = ["work", "household", "leisure"]

# %% [markdown]
# ## The protocol
#
# Everything is decided before the first question: the space, the loss and its bound, the
# mechanism, where the search starts and how far it may go, how many participants there will be.
# Nothing in it depends on data. The search starts at equal shares, because nothing better is
# known in public. The estimator below is the server's side: it never gets to see `days`.

# %%
server = PrivateVMFLocation(
    epsilon=4.0,
    initial_point=[1.0, 1.0, 1.0],
    region_radius=0.6,
    n_participants=n_participants,
    tuning=Tuning(keep_transcript=True),
).start()
text = server.protocol_.to_json()

print(f"{len(text)} characters, fingerprint {server.protocol_.fingerprint[:16]}...")
for key, value in json.loads(text).items():
    print(f"{key:>17}: {json.dumps(value)[:70]}")

# %% [markdown]
# The text is all there is to publish. Whoever reads it back holds the same protocol, and the
# fingerprint is a digest of it: one bound changed is another fingerprint, and its messages do not
# mix with ours.

# %%
print(Protocol.from_json(text) == server.protocol_)

# %% [markdown]
# ## A question
#
# The server holds an iterate, at first the initial point. It asks two participants a round, at two
# points on opposite sides of the iterate: the mean of the two answers says which way to go, half
# their difference says how the slope changes, and so yields the Hessian that the confidence
# region needs.

# %%
queries = server.queries()
for query in queries:
    print(query.side.rjust(5), query.point.round(4), f"{len(query.to_json())} characters")

center = sum(query.point for query in queries)
print("halfway:", (center / np.linalg.norm(center)).round(4))

# %% [markdown]
# ## An answer
#
# A participant's device gets the protocol and a query, both as text. It computes the score of its
# datum, the slope of the loss at the query point, and releases the score through the mechanism.
#
# (The device is seeded here so that the notebook prints the same numbers every time. That makes it
# a simulation of many people, whose messages are vectors. A real device answers once, with noise
# from the operating system, and sends an integer that stands for the vector.)

# %%
device = Participant(Protocol.from_json(text), random_state=0)
query = Query.from_json(queries[0].to_json())
message = device.respond(query, days[0])

score = -(days[0] - (days[0] @ query.point) * query.point)
print("true score, which stays at home:", score.round(3), "length", np.linalg.norm(score).round(3))
print("released message:               ", message.tangent_vec.round(3), end=" ")
print("length", np.linalg.norm(message.tangent_vec).round(3))
real = Participant(Protocol.from_json(text), max_epsilon=4.0).respond(query, days[0])
print("what a real device sends:", sorted(json.loads(real.to_json())))

# %% [markdown]
# The message is nearly three times as long as the score. It is right on average, over the noise,
# and says little on its own:

# %%
trials = np.array([device.respond(query, days[0]).tangent_vec for _ in range(2000)])
print("mean of 2,000 answers to one query:", trials.mean(axis=0).round(3))
print("standard deviation of one entry:   ", trials.std(axis=0).round(2))

# %% [markdown]
# (A simulation may ask one datum 2,000 times. A person answers **once**: each further answer would
# spend epsilon again.)
#
# ## Receiving, and refusing
#
# The second answer completes the round, and the iterate moves.

# %%
other_message = device.respond(queries[1], days[1])
server.partial_fit([message, other_message])
print("participants heard:", server.n_participants_)
print("next queries at:")
for query in server.queries():
    print(query.side.rjust(5), query.point.round(4))

# %% [markdown]
# What is not an answer to an open query is refused by name, and nothing changes. Here are four bad
# messages: an old one sent again, one of another protocol, one that is longer than the mechanism
# can make them, and a list whose second message answers the same query as the first.

# %%
open_query = server.queries()[0]
good = device.respond(open_query, days[2])
address = (good.fingerprint, good.round, good.index)
bad_ones = {
    "sent again": message,
    "other protocol": Message("0" * 64, good.round, good.index, good.tangent_vec),
    "too long": Message(*address, 100 * good.tangent_vec),
    "answered twice": [good, good],
}
before = server.estimate_.copy()
for kind, bad in bad_ones.items():
    try:
        server.partial_fit(bad)
    except MessageError as error:
        print(f"{kind}: {type(error).__name__}\n    {str(error)[:90]}")
print("unchanged:", np.array_equal(server.estimate_, before), server.n_participants_)

# %% [markdown]
# ## Half of the collection, and a crash
#
# The loop is always the same: ask, wait for the answers, pass them on. `queries()` is empty when
# everybody has answered. We write down the queries as they go by; they are public.

# %%
asked = [query.point for query in queries]
averages = [server.estimate_.copy()]


def collect(server, until):
    """Ask participants in order, until so many have answered."""
    while server.n_participants_ < until:
        queries = server.queries()
        first = server.n_participants_
        answers = [device.respond(query, days[first + i]) for i, query in enumerate(queries)]
        server.partial_fit(answers)
        asked.extend(query.point for query in queries)
        averages.append(server.estimate_.copy())


collect(server, n_participants // 2)
print(server.n_participants_, "participants:", server.estimate_.round(4))

# %% [markdown]
# `save_state` writes the state of the server to one file, whole or not at all. It holds the
# protocol, the iterate, the average and a few sums, so its size does not depend on how many have
# answered. A new process reads it and asks the very query that was open.

# %%
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "collection.npz"
server.save_state(path)
resumed = PrivateVMFLocation().load_state(path)

print(f"{path.stat().st_size / 1024:.1f} kB")
print("same estimate:", np.array_equal(resumed.estimate_, server.estimate_))
same = [a.to_json() == b.to_json() for a, b in zip(resumed.queries(), server.queries())]
print("same open queries:", same)

# %% [markdown]
# ## The end
#
# We let the first server go on to the end: it keeps the transcript, which a resumed one does not.

# %%
collect(server, n_participants)
print("open queries:", server.queries())

region = server.confidence_region(0.95)
print(region)
share = server.functional(np.square)
for name, value, (low, high) in zip(names, share.estimate, share.interval(0.95)):
    print(f"{name:>10}: {value:.3f}  ({low:.3f} to {high:.3f})")

# %% [markdown]
# The squares of the mean direction are the shares of a typical day. They are near the shares of
# the raw mean direction, which no server could know:

# %%
raw = days.mean(axis=0) / np.linalg.norm(days.mean(axis=0))
print("raw:", np.square(raw).round(3), " in the region:", bool(region.contains(raw)))

# %% [markdown]
# The transcript is the public record: the protocol and all messages in order. Anybody can run it
# again and must come to the same result, to the last bit. That makes the analysis open to audit
# although the data are not.

# %%
record = Path(folder.name) / "transcript.npz"
server.transcript_.save(record)
auditor = PrivateVMFLocation().partial_fit(Transcript.load(record))
print(len(server.transcript_), "messages;", end=" ")
print("same estimate:", np.array_equal(auditor.estimate_, server.estimate_))

# the resumed server of the crash: the messages it missed lead it to the same place
resumed.partial_fit(server.transcript_.messages[n_participants // 2 :])
print("resumed server agrees:", np.array_equal(resumed.estimate_, server.estimate_))
folder.cleanup()

# %% [markdown]
# ## A picture of the run
#
# Everything drawn here is public: the queries, the iterates halfway between them, the averages.
# First all iterates on the sphere, with the query pairs of the first 16 rounds as rods through it.
# The axes x1, x2 and x3 are the roots of the shares of work, household and leisure.

# %%
pairs = np.array(asked).reshape(-1, 2, 3)
iterates = pairs.sum(axis=1)
iterates /= np.linalg.norm(iterates, axis=1, keepdims=True)
averages = np.array(averages)
heard = 2 * np.arange(1, len(averages) + 1)

axes = plt.figure(figsize=(5, 5), layout="constrained").add_subplot(projection="3d")
ax = plot_on_sphere(region, ax=axes, points=iterates)
for pair in pairs[:16]:
    ax.plot(*pair.T, "-", color="0.2", lw=1, marker=".", zorder=20)
ax.set_title("1,500 participants, epsilon = 4")
plt.show()

# %% [markdown]
# The maps show the neighbourhood of the final estimate, in the tangent plane there.

# %%


def chart(points):
    """Coordinates about the final estimate, in degrees."""
    return np.degrees(region.coordinates(points)).T


figure, (start, end, course) = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for pair in pairs[:16]:
    start.plot(*chart(pair), "-", color="0.6", lw=1, marker="|", ms=5)
start.plot([], [], "-", color="0.6", marker="|", label="query pairs")
start.plot(*chart(iterates[:16]), "k.-", lw=1.2, label="iterates")
start.plot(*chart(iterates[0]), "ks", label="initial point")
start.set_title("the first 16 rounds")

end.plot(*chart(iterates[50:]), ".", color="0.75", ms=3, label="iterates")
end.plot(*chart(averages[50:]), "k-", lw=1, label="running average")
boundary = chart(region.boundary(200))
end.plot(*boundary, "k--", lw=1.5, label="95% region")
end.set_title("from round 50 on")
for ax in (start, end):
    ax.set(xlabel="first frame coordinate (degrees)", aspect="equal")
    ax.legend(frameon=False, fontsize="small")
start.set_ylabel("second frame coordinate (degrees)")


def degrees_apart(points):
    """Angle to the final estimate."""
    return np.degrees(np.arccos(np.clip(points @ server.estimate_, -1, 1)))


course.plot(heard, degrees_apart(iterates), ".", color="0.7", ms=3, label="iterate")
course.plot(heard, degrees_apart(averages), "k-", label="running average")
course.set(xscale="log", xlabel="participants heard", ylabel="angle to final estimate (degrees)")
course.legend(frameon=False)
plt.show()

# %% [markdown]
# The first steps are long, as the gain is large and one answer is mostly noise; the cap on steps
# and the working region keep them on the map. Later the gain falls and the iterates hover about the
# estimate, several degrees away and never still. Their running average is what settles, and the
# region is about the average.
