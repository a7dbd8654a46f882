"""Run the cells of a study over processes, and continue where a run was stopped."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Iterable, Sequence
from importlib.metadata import version

import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from tqdm.auto import tqdm

from geomstats_ldp import __version__
from geomstats_ldp.replication.study.methods import METHOD_TUNINGS, Cell, run_cell
from geomstats_ldp.replication.study.storage import StudyFolder

#: Repetitions that one task runs, a second's work or so; results do not depend on it.
_TASK = 10

#: Participants of the run that compiles a combination before the clock of the study starts.
_WARM_UP = 200

#: Packages whose versions are noted with a run. llvmlite stands for the compiler: naming that
#: would make this a source of compiled code, and every change of a study recompile all (see
#: `geomstats_ldp.compilation`).
_PACKAGES = ("geomstats", "numpy", "scipy", "llvmlite", "joblib")


def study_cells(
    designs: Iterable[str],
    epsilons: Iterable[float],
    mechanisms: Iterable[str],
    methods: Iterable[str],
    tunings: Iterable[str] | None,
) -> list[Cell]:
    """All cells of a study, each once, in the order of a table.

    Parameters
    ----------
    designs : iterable of str
    epsilons : iterable of float
    mechanisms, methods : iterable of str
    tunings : iterable of str, optional
        Default one for each method: the paper's for pairs and baselines, the defaults for rounds.

    Returns
    -------
    cells : list of Cell
        Methods have no cells with tunings that they do not have.

    Raises
    ------
    ValueError
        Naming what is unknown, or if nothing is left.
    """
    cells = {
        Cell(design, mechanism, epsilon, method, tuning)
        for mechanism in mechanisms
        for method in methods
        for tuning in (METHOD_TUNINGS[method][:1] if tunings is None else tunings)
        for design in designs
        for epsilon in epsilons
        if tuning in METHOD_TUNINGS[method]
    }
    if not cells:
        raise ValueError(
            "tuning must include 'paper' for 'trajectory' and 'half_sample', and 'default' for "
            "rounds"
        )
    return sorted(cells, key=lambda cell: cell.place)


def open_study(
    folder: str | os.PathLike,
    checkpoints: Sequence[int],
    repetitions: int,
    seed: int,
) -> StudyFolder:
    """Folder of a study, new or one with the same settings.

    Parameters
    ----------
    folder : path-like
    checkpoints : sequence of int
        Increasing sample sizes; one stream of participants serves them all.
    repetitions : int
    seed : int

    Returns
    -------
    store : StudyFolder

    Raises
    ------
    StudyFileError
        If the folder holds a study with other settings.
    """
    settings = {
        "version": __version__,
        "checkpoints": [int(n) for n in checkpoints],
        "repetitions": int(repetitions),
        "seed": int(seed),
    }
    return StudyFolder(folder, settings)


def run_study(
    cells: Sequence[Cell],
    store: StudyFolder,
    progress: bool = True,
    command: str = "",
) -> pd.DataFrame:
    """Run every cell that is not finished.

    Parameters
    ----------
    cells : list of Cell
    store : StudyFolder
        Finished cells are written there as they finish, and not run again.
    progress : bool
        Show a bar with the remaining time.
    command : str
        Noted with versions and wall time in the folder, if anything was run.

    Returns
    -------
    rows : DataFrame
        One for each cell, repetition and sample size.

    Raises
    ------
    StudyFileError
        If a file of the folder is damaged; before anything is run.

    Notes
    -----
    The work is done by joblib: ``joblib.parallel_config(n_jobs=4)`` around the call chooses the
    number of workers, ``joblib.parallel_config(backend="dask")`` those of a dask cluster. The
    numbers depend on the seed and not on the workers.
    """
    finished = [cell for cell in cells if store.has(cell)]
    read_cells(store, finished)
    missing = [cell for cell in cells if cell not in set(finished)]
    if missing:
        _run(missing, store, progress, command)
    return read_cells(store, cells)


def read_cells(store, cells):
    """Rows of finished cells, in the given order.

    Raises
    ------
    StudyFileError
        Naming a file that is damaged.
    """
    return pd.concat([store.read(cell) for cell in cells], ignore_index=True) if cells else None


def _run(cells, store, progress, command):
    checkpoints, repetitions, seed = (
        store.settings[name] for name in ("checkpoints", "repetitions", "seed")
    )
    # One queue for all cells: a worker never waits for the last task of a cell.
    tasks = [
        (cell, range(start, min(start + _TASK, repetitions)))
        for cell in cells
        for start in range(0, repetitions, _TASK)
    ]
    log = _RunLog(store, command)
    with Parallel(return_as="generator") as parallel, warnings.catch_warnings():
        # Compilation takes memory, for which loky may replace a worker; nothing is lost by that.
        warnings.filterwarnings("ignore", "A worker stopped", UserWarning)
        _compile(parallel, cells, seed, progress)
        rows, n_cells = [], 0
        done = parallel(delayed(run_cell)(cell, checkpoints, task, seed) for cell, task in tasks)
        with tqdm(
            total=len(cells) * repetitions, disable=not progress, unit="rep", smoothing=0.1
        ) as bar:
            for (cell, task), part in zip(tasks, done):
                bar.set_description(f"cell {n_cells + 1}/{len(cells)} {cell.key}", refresh=False)
                rows += part
                bar.update(len(task))
                if len(rows) == store.n_rows:
                    store.write(cell, rows)
                    rows, n_cells = [], n_cells + 1
                    log.update(n_cells)


def _compile(parallel, cells, seed, progress):
    """Compile what the cells need, each combination once, before all workers ask for it."""
    # A half-sample cell comes after that of the trajectory, replaces it here and compiles more.
    combinations = {
        (c.design, c.mechanism, c.is_private, c.method.replace("trajectory", "half_sample")): c
        for c in cells
    }
    done = parallel(delayed(run_cell)(c, [_WARM_UP], [0], seed) for c in combinations.values())
    for _ in tqdm(done, "compiling", len(combinations), leave=False, disable=not progress):
        pass


class _RunLog:
    """Keeps the record of a run up to date, so that a killed run leaves its wall time too."""

    def __init__(self, store, command):
        self._store, self._before = store, store.runs()
        self._start = time.perf_counter()
        self._record = {
            "command": command,
            "workers": effective_n_jobs(),
            "versions": {"python": platform.python_version()}
            | {name: version(name) for name in _PACKAGES},
        }

    def update(self, n_cells):
        seconds = round(time.perf_counter() - self._start, 1)
        record = self._record | {"cells": n_cells, "seconds": seconds}
        self._store.write_runs([*self._before, record])
