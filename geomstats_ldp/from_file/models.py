"""What differs between the models of ``geomstats-ldp fit``: columns, estimator, answer."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import numpy as np

from geomstats_ldp import estimators
from geomstats_ldp.exceptions import TableError
from geomstats_ldp.from_file.table import split_names
from geomstats_ldp.validation import check_scale


class Model:
    """A model whose answer has one component a column.

    Parameters
    ----------
    arguments : argparse.Namespace
        Options of the command.
    """

    estimator: type

    #: Radius of a region in words, from its length and its angle in degrees.
    size = "{1:.2g} degrees"

    #: Whether a picture of the region says more than that of the components.
    shows_region = True

    #: Fewest columns.
    fewest = 1

    def __init__(self, arguments):
        self.names = split_names(arguments.columns)
        if len(self.names) < self.fewest:
            raise TableError(
                f"--columns must be {self.fewest} names at least for {arguments.model}; "
                f"got {arguments.columns!r}"
            )

    @property
    def columns(self):
        """Names of the columns to read."""
        return self.names

    @property
    def n_scaled(self):
        """How many of them, from the first, have public units."""
        return len(self.columns)

    @property
    def labels(self):
        """Name of each component of the answer."""
        return self.names

    def record(self):
        """What was asked of which columns, for JSON."""
        return {"columns": self.names}

    def make_estimator(self, parameters):
        """Estimator with its parameters, not yet fitted."""
        return self.estimator(**parameters)

    def fit(self, estimator, rows):
        """Fit to rows of the columns, in public units."""
        estimator.fit(rows)

    def components(self, centre, scale):
        """Function from an estimate to the components that are reported."""
        return lambda estimate: estimate

    def drawn(self, estimator, functional):
        """Functional whose components are in the picture, and what their axis is about."""
        return functional, ""

    def text(self, estimator, functional, record):
        """What is printed."""
        percent = f"{100 * record['level']:g}%"
        width = max(map(len, self.labels))
        size = self.size.format(record["largest_radius"], np.degrees(record["largest_radius"]))
        lines = [
            f"{type(estimator).__name__}, {record['n_participants']} people, "
            f"epsilon {estimator.epsilon:g}, delta {estimator.delta:g}",
            "",
            f"{'':{width}}   estimate   {percent} interval",
        ]
        intervals = functional.interval(record["level"])
        rows = zip(self.labels, functional.estimate, functional.standard_error, intervals)
        for label, value, error, ends in rows:
            value, low, high = (_printed(number, error) for number in (value, *ends))
            lines.append(f"{label:{width}} {value:>10}   {low} to {high}")
        return "\n".join([*lines, "", f"{percent} region of all together: radius {size}"])


def _printed(number, error):
    """A number with four significant digits, or as many as reach the size of its error."""
    digits = 4
    if 0 < error < abs(number):
        digits = max(digits, math.floor(math.log10(abs(number) / error)) + 2)
    return f"{number:.{digits}g}"


class PrincipalDirection(Model):
    """Leading principal direction."""

    estimator = estimators.PrivatePCA
    fewest = 2


class MeanDirection(Model):
    """Mean direction."""

    estimator = estimators.PrivateVMFLocation
    fewest = 2


class Mean(Model):
    """Mean of each column, in the units of the file."""

    estimator = estimators.PrivateFrechetMean
    size = "{0:.3g}, after --divide-by"

    def make_estimator(self, parameters):
        """Everybody is asked once, at zero, and the mean may be anywhere in the ball of the data.

        A region so wide costs nothing then: scores need a bound at zero only.
        """
        parameters = dict(parameters)
        bound = check_scale("norm_bound", parameters.pop("norm_bound"))
        defaults = {"region_radius": bound, "n_rounds": 1}
        return self.estimator(data_radius=bound, **(defaults | parameters))

    def components(self, centre, scale):
        """Back to the units of the file."""
        return lambda mean: centre + scale * mean

    def drawn(self, estimator, functional):
        """Not in the units of the file: far from zero intervals would be dots."""
        return estimator.functional(lambda mean: mean), ", after --subtract and --divide-by"


class Covariance(Model):
    """Second moments."""

    estimator = estimators.PrivateSPDCovariance
    size = "{0:.3g}, affine-invariant"

    @property
    def labels(self):
        """Pairs of columns."""
        names = self.names
        return [f"{names[i]}, {names[j]}" for i, j in zip(*np.triu_indices(len(names)))]

    def components(self, centre, scale):
        """Entries on and above the diagonal."""
        return lambda matrix: matrix[np.triu_indices(len(self.names))]


class Regression(Model):
    """Intercept, and a coefficient for each column."""

    #: Estimators of the kinds, and the option that bounds residuals.
    kinds: ClassVar = {
        "linear": (estimators.PrivateLinearRegression, "target_bound"),
        "huber": (estimators.PrivateHuberRegression, "scale"),
        "logistic": (estimators.PrivateLogisticRegression, None),
    }
    shows_region = False

    def __init__(self, arguments):
        super().__init__(arguments)
        self.kind = arguments.kind
        target = split_names(arguments.target)
        if len(target) > 1 or target[0] in self.names:
            raise TableError(
                f"--target must be one column, and none of --columns; got {arguments.target!r}"
            )
        self.target = target[0]

    @property
    def columns(self):
        """The target is the last."""
        return [*self.names, self.target]

    @property
    def n_scaled(self):
        """Labels of a logistic regression stay as they are."""
        return len(self.names) + (self.kind != "logistic")

    @property
    def labels(self):
        """The intercept is the first."""
        return ["intercept", *self.names]

    def record(self):
        """With the target."""
        return {"kind": self.kind, "columns": self.names, "target": self.target}

    def make_estimator(self, parameters):
        """Regression of the kind, with the option that this kind needs and no other."""
        regression, needed = self.kinds[self.kind]
        for name in ("target_bound", "scale"):
            if (name in parameters) != (name == needed):
                rule = "must be given" if name == needed else "must not be given"
                raise TableError(f"--{name.replace('_', '-')} {rule} for --kind {self.kind}")
        # Labels are public: they are not looked up in the file.
        classes = {"classes": (0, 1)} if self.kind == "logistic" else {}
        return regression(**parameters, **classes)

    def fit(self, estimator, rows):
        """The target is the last column."""
        estimator.fit(rows[:, :-1], rows[:, -1])

    def text(self, estimator, functional, record):
        """The table of statistics packages."""
        summary = estimator.summary(record["level"])
        return str(dataclasses.replace(summary, names=tuple(self.labels)))


MODELS = {
    "pca": PrincipalDirection,
    "direction": MeanDirection,
    "mean": Mean,
    "covariance": Covariance,
    "regression": Regression,
}
