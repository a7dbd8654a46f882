# %% [markdown]
# # A collection in eight rounds, with people who are late
#
# The method of the paper asks two people, waits, and asks the next two: thousands of waits. Here
# as many people are asked in eight rounds. Within a round nobody waits for anybody; some answer a
# round late, and some never.
#
# The question is that of the notebook on protocols: how do people divide their waking day between
# *work*, *household* and *leisure*? The roots of the three shares are a point of the sphere, and a
# typical day is a mean direction.

# %%
import matplotlib.pyplot as plt
import numpy as np

from geomstats_ldp import Participant, PrivateVMFLocation

n_people = 3000
rng = np.random.default_rng(5)
days = np.sqrt(rng.dirichlet([5.0, 2.5, 6.5], size=n_people))  # private, one row a person
raw = days.mean(axis=0) / np.linalg.norm(days.mean(axis=0))  # what no server knows

# %% [markdown]
# ## The plan
#
# `n_rounds` makes it a collection in rounds. All of it is public and has a fingerprint: the sizes
# of the rounds too, which grow, because the first ones only find the neighbourhood of the answer.

# %%
server = PrivateVMFLocation(
    epsilon=4.0,
    initial_point=[1.0, 1.0, 1.0],
    region_radius=0.6,
    n_participants=n_people,
    n_rounds=8,
).start()
plan = server.protocol_.rounds
print("sizes:", plan.sizes, "in all", plan.n_participants)

questions = server.queries()
print(len(questions), "questions at", len({query.index for query in questions}), "points")

# %% [markdown]
# ## Round by round
#
# People are asked in order. What happens to an answer does not depend on what it says: one in ten
# never comes, and two in ten come when the next round is already open. A round is closed by its
# deadline, with whatever has come. Late answers join the query point that they answer.

# %%
# Seeded, so that one device simulates them all; a real one answers once, with noise of its own.
device = Participant(server.protocol_, random_state=0)
person, late, regions = 0, [], []
while queries := server.queries():
    on_time, too_late = [], late
    late = []
    for query, fate in zip(queries, rng.choice(3, size=len(queries), p=[0.7, 0.2, 0.1])):
        answer = device.respond(query, days[person])
        person += 1
        if fate < 2:
            (on_time, late)[fate].append(answer)
    server.partial_fit(on_time + too_late)
    print(
        f"round {queries[0].round + 1}: {len(queries)} asked, {len(on_time)} answered in time, "
        f"{len(too_late)} answers to the round before"
    )
    server.close_round()
    regions.append(server.confidence_region(0.95))

server.partial_fit(late)
regions.append(server.confidence_region(0.95))
print(server.n_participants_, "answers from", person, "people")

# %% [markdown]
# The last answers came when all rounds were closed. They count as well: the estimate and its
# region are made of all that has come, whenever we ask.

# %%
region = regions[-1]
print("estimate:", server.estimate_.round(3), " raw mean direction:", raw.round(3))
print(region, "holds the raw one:", bool(region.contains(raw)))
print(server.diagnostics_["answers_by_round"])

# %% [markdown]
# ## The region shrinks
#
# Each ellipse is the region after a round, seen in the tangent plane at the last estimate. The
# first rounds have few people and ask far from the answer; the last ones are asked close to it.

# %%
figure, (all_rounds, last_rounds) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
shades = plt.get_cmap("viridis")(np.linspace(0.9, 0.0, len(regions)))


def chart(points):
    """Coordinates about the last estimate, in degrees."""
    return np.degrees(region.coordinates(points)).T


for number, (one, shade) in enumerate(zip(regions, shades), start=1):
    boundary = one.boundary(200)
    closed = chart(np.vstack([boundary, boundary[:1]]))
    label = f"after round {number}" if number <= 8 else "with the last late answers"
    all_rounds.plot(*closed, color=shade, lw=1.3, label=label)
    if number >= 4:
        last_rounds.plot(*closed, color=shade, lw=1.3, label=label)
for ax in (all_rounds, last_rounds):
    ax.plot(*chart(raw), "k*", ms=10, label="raw mean direction")
    ax.set(xlabel="first frame coordinate (degrees)", aspect="equal")
all_rounds.set(title="all rounds", ylabel="second frame coordinate (degrees)")
all_rounds.legend(frameon=False, fontsize="small")
last_rounds.set_title("from the fourth round on")
plt.show()

# %% [markdown]
# ## What it costs to lose answers
#
# Little but the people. Here is a collection in which everybody answers in time, with as many
# people as have answered above; its region is about as large.

# %%
complete = PrivateVMFLocation(
    epsilon=4.0, initial_point=[1.0, 1.0, 1.0], region_radius=0.6, n_rounds=8, random_state=1
).fit(days[: server.n_participants_])
for name, one in (("late and missing", region), ("complete", complete.confidence_region(0.95))):
    print(f"{name:>16}: longest semi-axis {np.degrees(one.angular_radii[0]):.2f} degrees")
