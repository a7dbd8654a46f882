"""Independent repetitions of one computation over cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from geomstats_ldp.validation import check_integer


def replicate(
    task: Callable[[np.random.SeedSequence], Any],
    n_repetitions: int,
    seed: int | np.random.SeedSequence,
    *,
    n_jobs: int | None = None,
) -> Iterator[Any]:
    """Run a task many times, each time on randomness of its own.

    Parameters
    ----------
    task : callable
        Called with a ``numpy.random.SeedSequence``, from which it draws everything it draws;
        `numpy.random.default_rng` and `make_streams` take one. It must pickle, unless threads are
        asked for.
    n_repetitions : int
    seed : int or SeedSequence
        Repetition i gets child i of the sequence, so that results depend neither on the number of
        workers nor on how repetitions are batched, and the first of many are those of few.
    n_jobs : int, optional
        Number of workers. Default what ``joblib.parallel_config`` says, else one.

    Returns
    -------
    results : generator
        What the task returned, in the order of the repetitions, each as soon as it is there.

    Raises
    ------
    ProtocolError
        If `n_repetitions` is not a positive integer.

    Examples
    --------
    >>> import numpy as np
    >>> from geomstats_ldp import replicate
    >>> def mean_of_noise(seed):
    ...     return np.random.default_rng(seed).normal(size=100).mean()
    >>> means = list(replicate(mean_of_noise, 200, seed=0))
    >>> bool(abs(np.std(means) - 0.1) < 0.02)
    True
    """
    check_integer("n_repetitions", n_repetitions)
    children = _children(seed, n_repetitions)
    # A generator holds no more results than wait to be taken.
    workers = Parallel(n_jobs=n_jobs, return_as="generator")
    return workers(delayed(task)(child) for child in children)


def _children(seed, n):
    """Children 0, ..., n - 1 of a sequence, however many have been spawned from it before."""
    root = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    return [
        np.random.SeedSequence(
            root.entropy, spawn_key=(*root.spawn_key, i), pool_size=root.pool_size
        )
        for i in range(n)
    ]
