"""From the options of ``geomstats-ldp fit`` to what it prints and writes.

What goes to the standard output, into JSON and into the picture depends on the people through
their messages alone. The share of clipped rows does not: it goes to the standard error.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np

from geomstats_ldp import estimators
from geomstats_ldp.estimators.record import answer_record, texts_of
from geomstats_ldp.exceptions import ClippingWarning, TableError
from geomstats_ldp.files import write_atomically
from geomstats_ldp.from_file.table import read_columns, split_names
from geomstats_ldp.serialization import encode

_ESTIMATORS = {
    "pca": estimators.PrivatePCA,
    "direction": estimators.PrivateVMFLocation,
    "mean": estimators.PrivateFrechetMean,
    "covariance": estimators.PrivateSPDCovariance,
}

#: Radius of a region in words, from its length and its angle in degrees.
_SIZES = dict.fromkeys(("pca", "direction"), "{1:.2g} degrees")
_SIZES |= {"mean": "{0:.3g}, after --divide-by", "covariance": "{0:.3g}, affine-invariant"}

#: Parameters by the options that have other names.
_OPTIONS = {"rounds": "n_rounds", "seed": "random_state"}
_PARAMETERS = (
    *("norm_bound", "initial_point", "region_radius"),
    *("epsilon", "delta", "mechanism", "rounds", "seed"),
)


def run(arguments):
    """Read, fit, print, write."""
    names = split_names(arguments.columns)
    centre, scale = _public_units(arguments, len(names))
    estimator = make_estimator(arguments)
    rows = (read_columns(arguments.csv, names) - centre) / scale
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(rows)
        record = answer_record(estimator, arguments.level)
        if arguments.model == "mean":
            functional = estimator.functional(lambda mean: centre + scale * mean)
        elif arguments.model == "covariance":
            functional = estimator.functional(lambda matrix: matrix[np.triu_indices(len(names))])
        else:
            functional = estimator.functional(lambda direction: direction)
    _warn(caught, estimator)
    labels = _labels(arguments.model, names)
    _print(arguments, estimator, labels, functional, record)
    if arguments.json is not None:
        chosen = {name: getattr(arguments, name) for name in ("subtract", "divide_by")}
        chosen |= {name: value for name, value in _parameters(arguments) if name != "random_state"}
        components = _components(labels, functional, arguments.level)
        rest = {"components": components, "warnings": texts_of(caught, leave_out=ClippingWarning)}
        record = {"model": arguments.model, "columns": names, "parameters": chosen, **record}
        _write_json(arguments.json, record | rest)
    if arguments.picture is not None:
        _draw(arguments.picture, estimator, labels, functional, arguments.level)


def make_estimator(arguments):
    """Estimator of a model with its options, not yet fitted."""
    parameters = dict(_parameters(arguments))
    if arguments.model == "mean":
        parameters["data_radius"] = parameters.pop("norm_bound")
    return _ESTIMATORS[arguments.model](**parameters)


def _parameters(arguments):
    """Names and values of the parameters that options give."""
    for name in _PARAMETERS:
        value = getattr(arguments, name, None)
        if value is not None:
            yield _OPTIONS.get(name, name), value


def _public_units(arguments, n_columns):
    """What is subtracted from the columns, and what they are divided by."""
    units = []
    for option, default in (("subtract", 0.0), ("divide_by", 1.0)):
        values = getattr(arguments, option)
        values = [default] * n_columns if values is None else values
        if len(values) != n_columns or not np.isfinite(values).all():
            raise TableError(
                f"--{option.replace('_', '-')} must have {n_columns} finite numbers, one a "
                f"column; got {values}"
            )
        units.append(np.array(values))
    if not (units[1] > 0).all():
        raise TableError(f"--divide-by must have positive numbers; got {units[1].tolist()}")
    return units


def _labels(model, names):
    """Name of each component of the answer."""
    if model != "covariance":
        return list(names)
    return [f"{names[i]}, {names[j]}" for i, j in zip(*np.triu_indices(len(names)))]


def _components(labels, functional, level):
    """Estimate, standard error and interval of each component, by its name."""
    parts = zip(
        labels, functional.estimate, functional.standard_error, functional.interval(level).tolist()
    )
    return {
        label: {"estimate": float(value), "standard_error": float(error), "interval": ends}
        for label, value, error, ends in parts
    }


def _warn(caught, estimator):
    """Tell the one who runs this of warnings, and of the share of rows that were clipped."""
    for text in texts_of(caught):
        print(f"geomstats-ldp: warning: {text}", file=sys.stderr)
    share = estimator.diagnostics_["clipped_share"]
    print(
        f"geomstats-ldp: {100 * share:.1f}% of the rows were clipped (a number that no message "
        "protects)",
        file=sys.stderr,
    )


def _print(arguments, estimator, labels, functional, record):
    width = max(map(len, labels))
    percent = f"{100 * arguments.level:g}%"
    print(
        f"{type(estimator).__name__}, {record['n_participants']} people, "
        f"epsilon {arguments.epsilon:g}, delta {arguments.delta:g}\n"
    )
    print(f"{'':{width}}   estimate   {percent} interval")
    for label, value, ends in zip(
        labels, functional.estimate, functional.interval(record["level"])
    ):
        print(f"{label:{width}} {value:10.4g}   {ends[0]:.4g} to {ends[1]:.4g}")
    size = _SIZES[arguments.model].format(
        record["largest_radius"], np.degrees(record["largest_radius"])
    )
    print(f"\n{percent} region of all together: radius {size}")


def _write_json(path, record):
    text = json.dumps(encode(record), indent=2, allow_nan=False) + "\n"
    write_atomically(path, lambda file: file.write(text.encode()))
    print(f"wrote {path}")


def _draw(path, estimator, labels, functional, level):
    from matplotlib.figure import Figure

    from geomstats_ldp.plotting import plot_loadings

    figure = Figure(figsize=(9.5, 3.8), layout="constrained")
    axes = figure.subplots(1, 2)
    plot_loadings(functional, labels, level, ax=axes[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said already
        estimator.confidence_region(level).plot(ax=axes[1])
    kind = path.suffix[1:] or "png"
    write_atomically(path, lambda file: figure.savefig(file, dpi=150, format=kind))
    print(f"wrote {path}")
