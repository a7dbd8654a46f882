"""Hessians that are publicly known to be block diagonal, in coordinates of the public frame.

On a product of spaces a sum of losses of the factors, such as the squared distance, has no mixed
second derivatives; and on a flat factor the Hessian of the squared distance is the identity. The
regression then has fewer numbers to find, and what is found of one block says nothing of another.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from geomstats_ldp.score_regression.moments import hessian_basis
from geomstats_ldp.score_regression.shrinkage import (
    bounded_hessian,
    charged_share,
    errors_in_range,
    shrink,
)

#: What `bounded_hessian` says of a block, and how that of several is joined.
BOUNDS = {
    "hessian_floor": min,
    "hessian_bound": max,
    "hessian_floor_active": any,
    "hessian_bound_active": any,
}


class Block(NamedTuple):
    """One block on the diagonal of the Hessian.

    Attributes
    ----------
    start, size : int
        First frame coordinate, and their number.
    rule : InferenceRule
        With what is known of this block alone.
    """

    start: int
    size: int
    rule: Any

    @property
    def place(self):
        """Slice of its coordinates."""
        return slice(self.start, self.start + self.size)

    @property
    def is_known(self):
        """Whether it is one multiple of the identity, whatever the data."""
        bounds = self.rule.hessian_range
        return bounds is not None and bounds[0] == bounds[1]

    def of(self, matrix):
        """The block of a matrix, shape [..., dim, dim]."""
        return matrix[..., self.place, self.place]


def blocks_of(rule, dim):
    """Blocks of the Hessian, one for all coordinates where no more is known."""
    if rule.hessian_blocks is None:
        return [Block(0, dim, rule)]
    blocks, start = [], 0
    for size, low, high in rule.hessian_blocks:
        own = replace(rule, hessian_range=(low, high), hessian_blocks=None)
        blocks.append(Block(start, size, own))
        start += size
    return blocks


def possible_hessians(geometry, moment, rule):
    """The Hessians that a regression chooses among: a known one, and combinations of a basis.

    Returns
    -------
    basis : array, shape [n_basis, dim, dim]
        Orthonormal; of matrices within one block each.
    known : array, shape [dim, dim]
        What of the Hessian needs no estimate.
    """
    dim, is_isotropic = geometry.dim, rule.hessian == "isotropic"
    basis, known = hessian_basis(geometry, moment, is_isotropic), np.zeros((dim, dim))
    if rule.hessian_blocks is None:
        return basis, known
    kept = []
    for block in blocks_of(rule, dim):
        if block.is_known:
            known[block.place, block.place] = block.rule.hessian_range[0] * np.eye(block.size)
        else:
            kept.extend(basis_within(basis, block))
    return basis[kept], known


def basis_within(basis, block):
    """Indices of the matrices of an orthonormal basis that have all their entries in a block."""
    return np.flatnonzero(np.sum(block.of(basis) ** 2, axis=(1, 2)) > 0.5)


def rows_of_error(errors, blocks):
    """Expected squared error of each row of the Hessian, shape [dim], spread evenly in a block.

    `errors`, shape [n_blocks], are expected squared Frobenius norms.
    """
    sizes = [block.size for block in blocks]
    return np.repeat(np.asarray(errors) / sizes, sizes)


def usable_hessian(protocol, raw, noise, basis, n):
    """Hessian that can be inverted, block by block, from the one by least squares.

    `noise`, shape [n_basis, n_basis], is the covariance of its coefficients, `basis` that of
    `possible_hessians`.

    Returns
    -------
    hessian : array, shape [dim, dim]
        Shrunk by its noise, and with eigenvalues in their public range.
    errors : array, shape [n_blocks, 2]
        See `ScoreFit`.
    bounds : dict
        As `bounded_hessian` gives it, of the blocks together.
    """
    hessian, errors, bounds = np.zeros_like(raw), [], []
    blocks = blocks_of(protocol.inference, protocol.dim)
    flat = known_multiple(blocks)
    for block in blocks:
        own, place = basis_within(basis, block), block.place
        part = block.of(raw), noise[np.ix_(own, own)], block.of(basis[own])
        hessian[place, place], error, limits = _usable_block(
            block.rule, *part, flat, protocol.hessian_bound, n
        )
        errors.append(error)
        bounds.append(limits)
    return hessian, np.array(errors), joined_bounds(bounds)


def joined_bounds(bounds):
    """What `bounded_hessian` says of all blocks together."""
    return {name: joined(one[name] for one in bounds) for name, joined in BOUNDS.items()}


def known_multiple(blocks):
    """Multiple of the identity that one of several blocks is known to be, or None."""
    known = [block.rule.hessian_range[0] for block in blocks if block.is_known]
    return known[0] if known and len(blocks) > 1 else None


def _usable_block(rule, raw, noise, basis, flat, hessian_bound, n):
    """The same of one block, whose basis has matrices of its size.

    It is shrunk to a multiple of the identity, its own or that of another block which is known.
    """
    dim, n_shrunk = len(raw), max(len(basis) - (flat is None), 0)
    trace = np.einsum("kii->k", basis) / math.sqrt(dim)
    spherical = float(trace @ noise @ trace)
    deviatoric = max(float(np.trace(noise)) - spherical, 0.0)
    hessian, kept = raw, 1.0
    if rule.hessian == "shrunk" and rule.prior_hessian is None and n_shrunk > 0:
        shrunk = deviatoric if flat is None else spherical + deviatoric
        hessian, kept = shrink(raw, shrunk, flat, rule.hessian_range)
    charged = charged_share(kept, n_shrunk)
    deviatoric *= charged
    if flat is not None:
        spherical *= charged
    hessian, bounds = bounded_hessian(hessian, rule, hessian_bound, n)
    return hessian, errors_in_range(spherical, deviatoric, dim, rule.hessian_range), bounds
