r"""Subset selection: one of k categories, released as a set of w categories.

A datum i is answered by a random set S of w categories, with probability proportional to one if S
holds i and to :math:`e^{-\epsilon}` otherwise. The set is private, as these differ by
:math:`e^\epsilon` and their sum is the same for all i. It holds i with probability
:math:`p = w / \{w + (k - w) e^{-\epsilon}\}` and any other j with
:math:`q = \{p (w - 1) + (1 - p) w\} / (k - 1)`, so that :math:`(1\{j \in S\} - q) / (p - q)` has
the mean :math:`1\{j = i\}`. With w near :math:`k / (e^\epsilon + 1)` no mechanism has a smaller
error in the worst case (Ye and Barg, 2018); k-ary randomised response is w = 1.

The set is released by candidate: the public generator of `mechanisms.candidates` turns a 64-bit
integer into a set, and the datum decides only how likely it is accepted. Block j of Philox4x32
under the candidate's key gives the 64-bit words 2j and 2j + 1, (x0, x1) and (x2, x3) with the first
one high; the set is the places of the w smallest words of the first k, the earlier place first
among equals. All of it is integer arithmetic.

References
----------
Ye and Barg (2018), Optimal schemes for discrete distribution estimation under locally differential
privacy, IEEE Transactions on Information Theory 64(8), 5662-5676.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from geomstats_ldp.mechanisms.candidates import candidate_words
from geomstats_ldp.mechanisms.checks import check_epsilon
from geomstats_ldp.mechanisms.device import OnDevice
from geomstats_ldp.validation import check_integer, finite_array


class SubsetSelection(OnDevice):
    """Pure epsilon-LDP release of one of k categories.

    Parameters
    ----------
    epsilon : float
        In [1e-3, 700], or inf for a set that holds the datum and nothing else.
    n_categories : int
        Number k of categories, at least 2.

    Attributes
    ----------
    subset_size : int
        Number w of categories in a message.
    own_probability, other_probability : float
        Probability p that a set holds the category of the datum, and q that it holds another.
    frequency_variance : float
        Variance of the estimated frequency of a category that nobody has, for one participant.

    Raises
    ------
    ArgumentTypeError, ProtocolError
        If an argument is out of range.
    """

    name = "subset_selection"
    delta = 0.0

    def __init__(self, epsilon: float, n_categories: int):
        self.epsilon = check_epsilon(epsilon)
        self.dim = self.candidate_width = check_integer("n_categories", n_categories, 2)
        sizes = np.arange(1, self.dim // 2 + 1)
        self.subset_size = int(sizes[np.argmin([self._variance(size) for size in sizes])])
        self.own_probability, self.other_probability = self._probabilities(self.subset_size)
        self.frequency_variance = self._variance(self.subset_size)

    def _probabilities(self, size):
        """Probabilities p and q for sets of a size."""
        own = size / (size + (self.dim - size) * math.exp(-self.epsilon))
        return own, (own * (size - 1) + (1 - own) * size) / (self.dim - 1)

    def _variance(self, size):
        """Variance of the frequency of a category that nobody has, for one participant."""
        own, other = self._probabilities(size)
        return other * (1 - other) / (own - other) ** 2

    # ---------------------------------------------------------------- release

    def candidate_points(self, numbers: np.ndarray) -> np.ndarray:
        """Sets that the public generator gives to candidates.

        Parameters
        ----------
        numbers : array of uint64, shape [n]

        Returns
        -------
        sets : array, shape [n, n_categories]
            One where a set holds a category, zero elsewhere.
        """
        words = candidate_words(numbers, self.dim)
        order = np.argsort(words, axis=1, kind="stable")[:, : self.subset_size]
        sets = np.zeros(words.shape)
        np.put_along_axis(sets, order, 1.0, axis=1)
        return sets

    def weight(self, points: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """One for sets that hold the category of the datum; see `Mechanism.weight`.

        Parameters
        ----------
        points : array, shape [n, n_categories]
        vector : array, shape [n_categories]
            One at the category, zero elsewhere.

        Returns
        -------
        weights : array, shape [n]
        """
        return np.where(points @ vector > 0.5, 1.0, self.least_weight)

    def point_vector(self, points: np.ndarray) -> np.ndarray:
        """Unbiased estimates of where the datum is, shape [n, n_categories]."""
        return (points - self.other_probability) / (self.own_probability - self.other_probability)

    # ---------------------------------------------------------------- simulation and estimates

    def simulate(self, categories: ArrayLike, random_state: np.random.Generator) -> np.ndarray:
        """Sets of many participants by a direct sampler with the same law, for simulation.

        Parameters
        ----------
        categories : array-like of int, shape [n]
            In [0, n_categories).
        random_state : numpy Generator

        Returns
        -------
        sets : array, shape [n, n_categories]
        """
        categories = np.asarray(categories)
        keys = random_state.random((len(categories), self.dim))
        is_in = random_state.random(len(categories)) < self.own_probability
        keys[np.arange(len(categories)), categories] = np.where(is_in, -1.0, 2.0)
        order = np.argpartition(keys, self.subset_size - 1, axis=1)[:, : self.subset_size]
        sets = np.zeros(keys.shape)
        np.put_along_axis(sets, order, 1.0, axis=1)
        return sets

    def frequencies(self, sets: ArrayLike) -> np.ndarray:
        """Unbiased frequencies of the categories among the participants.

        Parameters
        ----------
        sets : array-like, shape [n, n_categories]
            Messages.

        Returns
        -------
        frequencies : array, shape [n_categories]
            They sum to one, and may be negative.
        """
        return self.point_vector(finite_array("sets", sets, ("n", self.dim))).mean(axis=0)

    def __repr__(self):
        return f"SubsetSelection(epsilon={self.epsilon!r}, n_categories={self.dim})"
