"""From the options of ``geomstats-ldp fit`` to what it prints and writes.

What goes to the standard output, into JSON and into the picture depends on the people through
their messages alone. The share of clipped rows does not: it goes to the standard error.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from geomstats_ldp.estimators.record import answer_record, texts_of
from geomstats_ldp.exceptions import ClippingWarning, TableError
from geomstats_ldp.from_file.commands import ESTIMATOR_PARAMETERS
from geomstats_ldp.from_file.models import MODELS
from geomstats_ldp.from_file.table import read_columns
from geomstats_ldp.options import in_options, write_json, write_picture


def run(arguments):
    """Read, fit, print, write."""
    model = MODELS[arguments.model](arguments)
    centre, scale = _public_units(arguments, model)
    _check_start(getattr(arguments, "initial_point", None), model)
    estimator = model.make_estimator(dict(_parameters(arguments)))
    rows = (read_columns(arguments.csv, model.columns) - centre) / scale
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(estimator, rows)
        region = estimator.confidence_region(arguments.level)
        functional = estimator.functional(model.components(centre, scale))
        record = answer_record(estimator, region)
        text = model.text(estimator, functional, record)
    _warn(caught, estimator, arguments)
    print(text)
    if not record["is_informative"]:
        level = f"{100 * arguments.level:g}%"
        print(f"The {level} region reaches the edge of where the answer was sought")
    scouted = getattr(estimator, "scouted_", None)
    if scouted is not None:
        found = {n: value for n, value in scouted.parameters.items() if n != "known_moment"}
        print(f"{scouted.n_participants} more people scouted: {_in_words(found)}")
    if arguments.json is not None:
        chosen = {name: getattr(arguments, name) for name in ("subtract", "divide_by")}
        chosen |= {name: value for name, value in _parameters(arguments) if name != "random_state"}
        components = _components(model.labels, functional, arguments.level)
        rest = {"components": components, "warnings": texts_of(caught, leave_out=ClippingWarning)}
        asked = {"model": arguments.model, **model.record(), "parameters": chosen}
        if scouted is not None:
            found = {name: np.asarray(value).tolist() for name, value in found.items()}
            rest["scouted"] = {"n_participants": scouted.n_participants, **found}
        write_json(arguments.json, asked | record | rest)
    if arguments.picture is not None:
        _draw(arguments.picture, model, region, *model.drawn(estimator, functional))


def _parameters(arguments):
    """Names and values of the parameters that options give."""
    for name, option in ESTIMATOR_PARAMETERS.items():
        value = getattr(arguments, option, None)
        if value is not None:
            yield name, value


def _public_units(arguments, model):
    """What is subtracted from the columns, and what they are divided by."""
    units, n_columns = [], model.n_scaled
    for option, default in (("subtract", 0.0), ("divide_by", 1.0)):
        values = getattr(arguments, option)
        values = [default] * n_columns if values is None else values
        if len(values) != n_columns or not np.isfinite(values).all():
            raise TableError(
                f"--{option.replace('_', '-')} must have {n_columns} finite numbers, one for each "
                f"of {', '.join(model.columns[:n_columns])}; got {values}"
            )
        units.append(np.array(values + [default] * (len(model.columns) - n_columns)))
    if not (units[1] > 0).all():
        raise TableError(f"--divide-by must have positive numbers; got {units[1].tolist()}")
    return units


def _check_start(point, model):
    """A first guess has a number for each column."""
    if isinstance(point, list) and len(point) != len(model.names):
        raise TableError(
            f"--initial-point must have {len(model.names)} numbers, one for each of "
            f"{', '.join(model.names)}; got {point}"
        )


def _components(labels, functional, level):
    """Estimate, standard error and interval of each component, by its name."""
    parts = zip(
        labels, functional.estimate, functional.standard_error, functional.interval(level).tolist()
    )
    return {
        label: {"estimate": float(value), "standard_error": float(error), "interval": ends}
        for label, value, error, ends in parts
    }


def _warn(caught, estimator, arguments):
    """Tell the one who runs this of warnings, and of the share of rows that were clipped."""
    for text in texts_of(caught):
        print(f"geomstats-ldp: warning: {in_options(text, arguments)}", file=sys.stderr)
    share = estimator.diagnostics_["clipped_share"]
    print(
        f"geomstats-ldp: {100 * share:.1f}% of the rows were clipped (a number that no message "
        "protects)",
        file=sys.stderr,
    )


def _in_words(parameters):
    """Names and values of parameters."""
    return ", ".join(
        f"{name.replace('_', ' ')} {np.array2string(np.asarray(value), precision=3)}"
        for name, value in parameters.items()
    )


def _draw(path, model, region, functional, units):
    from matplotlib.figure import Figure

    from geomstats_ldp.plotting import plot_loadings

    n_panels = 1 + model.shows_region
    figure = Figure(figsize=(4.75 * n_panels, 3.8), layout="constrained")
    axes = figure.subplots(1, n_panels, squeeze=False)[0]
    ax = plot_loadings(functional, model.labels, region.level, ax=axes[0])
    ax.set_xlabel(ax.get_xlabel() + units, wrap=True)
    if model.shows_region:
        region.plot(ax=axes[1])
    write_picture(path, figure)
