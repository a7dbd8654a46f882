"""Run the cells of a study over processes, and continue where a run was stopped."""

from __future__ import annotations

import pandas as pd
from joblib import Parallel, delayed
from tqdm.auto import tqdm

from geomstats_ldp import __version__
from geomstats_ldp.studies.designs import EPSILONS
from geomstats_ldp.studies.methods import Cell, run_cell
from geomstats_ldp.studies.storage import StudyFolder

#: Repetitions that one task runs; results do not depend on it.
_TASK = 10

#: Participants of the run that compiles a combination before the clock of the study starts.
_WARM_UP = 200


def study_cells(designs, epsilons, mechanisms, methods, tunings):
    """All cells of a study, in the order of a table; baselines with the paper's tuning only."""
    return [
        Cell(design, mechanism, epsilon, method, tuning)
        for mechanism in mechanisms
        for method in methods
        for tuning in tunings
        for design in designs
        for epsilon in epsilons
        if method == "spr" or tuning == "paper"
    ]


def run_study(cells, checkpoints, repetitions, seed, folder, progress=True):
    """Run every cell that is not finished, and read all of them.

    Parameters
    ----------
    cells : list of Cell
    checkpoints : sequence of int
        Increasing sample sizes; one stream of participants serves them all.
    repetitions : int
    seed : int
        The numbers depend on it, and not on how many workers there are.
    folder : path-like
        Finished cells are written there as they finish, and not run again.
    progress : bool
        Show a bar with the remaining time.

    Returns
    -------
    rows : DataFrame
        One for each cell, repetition and sample size.

    Raises
    ------
    StudyFileError
        If the folder holds a study with other settings, or a damaged file.

    Notes
    -----
    The work is done by joblib: ``joblib.parallel_config(n_jobs=4)`` around the call chooses the
    number of workers, ``joblib.parallel_config(backend="dask")`` those of a dask cluster.
    """
    checkpoints = [int(n) for n in checkpoints]
    settings = {
        "version": __version__,
        "checkpoints": checkpoints,
        "repetitions": int(repetitions),
        "seed": int(seed),
    }
    store = StudyFolder(folder, settings)
    n_rows = repetitions * len(checkpoints)
    finished = {cell: store.read(cell, n_rows) for cell in cells if store.has(cell)}
    with Parallel() as parallel:
        missing = [cell for cell in cells if cell not in finished]
        _compile(parallel, missing, seed)
        with tqdm(missing, disable=not progress, unit="cell", desc="study") as bar:
            for cell in bar:
                bar.set_postfix_str(cell.key)
                store.write(cell, _run_over(parallel, cell, checkpoints, repetitions, seed))
                finished[cell] = store.read(cell, n_rows)
    return pd.concat([finished[cell] for cell in cells], ignore_index=True)


def _run_over(parallel, cell, checkpoints, repetitions, seed):
    tasks = (
        range(start, min(start + _TASK, repetitions)) for start in range(0, repetitions, _TASK)
    )
    done = parallel(delayed(run_cell)(cell, checkpoints, task, seed) for task in tasks)
    return [row for rows in done for row in rows]


def _compile(parallel, cells, seed):
    """Compile what the cells need, each combination once, before all workers ask for it."""
    combinations = {(c.design, c.mechanism, c.method, c.epsilon == EPSILONS[0]): c for c in cells}
    parallel(delayed(run_cell)(cell, [_WARM_UP], [0], seed) for cell in combinations.values())
