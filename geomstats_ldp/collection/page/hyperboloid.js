// Hyperbolic space as the upper sheet of the hyperboloid, the first coordinate time-like: the closed
// forms of geomstats_ldp/geometry/spaces/hyperbolic.py, which explains them. They stay accurate for
// nearly coincident points and far out, where differences of Minkowski products would not.

import { dot, largestEntry, length, plus, times } from "./vectors.js";

/** Rounding of a Minkowski product, relative to the sum of its absolute terms and per coordinate. */
const ROUNDING = 4e-16;

const spatial = (vector) => vector.slice(1);

/** Point of the sheet with the given spatial coordinates. */
export const onSheet = (x) => [Math.sqrt(1 + dot(x, x)), ...x];

/**
 * What the shorter spatial vector b and the part of the other across it span: the part
 * (other - b) - along b, the squared lengths of both, and sinh of half the distance.
 */
function plane(p, q) {
  const [x, y] = [spatial(p), spatial(q)];
  const size = Math.max(largestEntry(x), largestEntry(y)) || 1;
  const [a, b] = [times(1 / size, x), times(1 / size, y)];
  const delta = plus(y, -1, x).map((entry) => entry / size);
  const [aSquare, bSquare] = [dot(a, a), dot(b, b)];
  const flip = bSquare < aSquare;
  const square = flip ? bSquare : aSquare;
  const along = (flip ? -dot(b, delta) : dot(a, delta)) / (square > 0 ? square : 1);
  const side = flip ? plus(plus(x, -1, y), -along, y) : plus(plus(y, -1, x), -along, x);
  const scaledSide = times(1 / size, side);
  const across = dot(scaledSide, scaledSide);
  const lengths = Math.sqrt(aSquare) * Math.sqrt(bSquare);
  const weights = Math.sqrt(aSquare) * q[0] + Math.sqrt(bSquare) * p[0];
  const radial = dot(delta, plus(a, 1, b)) / (weights > 0 ? weights : 1);
  const halfRadial = (radial * radial) / (2 + 2 * Math.sqrt(1 + (size * radial) ** 2));
  const inner = dot(a, b);
  // |x| |y| (1 - cos) is the wedge squared over |x| |y| (1 + cos), where that does not cancel.
  const turned = inner > 0 ? (square * across) / (lengths + inner) : lengths - inner;
  return {
    flip,
    base: flip ? y : x,
    side,
    square: size * size * square,
    across: size * size * across,
    half: size * Math.sqrt(halfRadial + 0.5 * turned),
  };
}

/** Parallel transport to the origin of the sheet, an isometry to the spatial coordinates. */
function toOrigin(vector, base) {
  const shift = dot(spatial(base), spatial(vector)) / (base[0] * (1 + base[0]));
  return plus(spatial(vector), -shift, spatial(base));
}

/** Turn a vector at the origin for the way from p to q, which differs from the way over the origin. */
function turn(vector, p, q) {
  const { flip, base, side, square, across, half } = plane(p, q);
  const real = 2 + p[0] + q[0] + 2 * half * half;
  const signed = flip ? -real : real;
  const factor = 2 / (real * real + square * across);
  const [alongBase, alongSide] = [dot(base, vector), dot(side, vector)];
  const onBase = factor * (signed * alongSide - across * alongBase);
  const onSide = -factor * (signed * alongBase + square * alongSide);
  return plus(vector, 1, plus(times(onBase, base), onSide, side));
}

export class Hyperboloid {
  constructor({ dim }) {
    this.dim = dim;
    this.shape = [dim + 1];
    this.injectivityRadius = Infinity;
  }

  isOn(point, tolerance) {
    const [time] = this.settle(point);
    return Math.abs(point[0] - time) <= tolerance * time;
  }

  settle(point) {
    return onSheet(spatial(point));
  }

  toTangent(vector, base) {
    const terms = vector.map((entry, i) => (i === 0 ? -1 : 1) * entry * base[i]);
    const sum = terms.reduce((total, term) => total + term, 0);
    const size = terms.reduce((total, term) => total + Math.abs(term), 0);
    const inner = Math.abs(sum) <= ROUNDING * base.length * size ? 0 : sum;
    const moved = plus(spatial(vector), inner, spatial(base));
    return [dot(moved, spatial(base)) / base[0], ...moved];
  }

  distance(a, b) {
    return 2 * Math.asinh(plane(a, b).half);
  }

  log(point, base) {
    const { half } = plane(point, base);
    const sine = 2 * half * Math.sqrt(1 + half * half);
    const scale = sine > 0 ? (2 * Math.asinh(half)) / sine : 1;
    // The part of point - base across base; cosh - 1 is twice the square of half.
    const [x, y] = [spatial(point), spatial(base)];
    const out = times(scale, plus(plus(x, -1, y), -2 * half * half, y));
    return [dot(y, out) / base[0], ...out];
  }

  exp(vector, base) {
    const size = length(toOrigin(vector, base));
    const sinc = size > 0 ? Math.sinh(size) / size : 1;
    return onSheet(plus(times(Math.cosh(size), spatial(base)), sinc, spatial(vector)));
  }

  products(vector, basis, base) {
    const atOrigin = toOrigin(vector, base);
    return basis.map((row) => dot(toOrigin(row, base), atOrigin));
  }

  coordinates(vector, point, { reference, basis }) {
    const atOrigin = turn(toOrigin(vector, point), point, reference);
    return basis.map((row) => dot(toOrigin(row, reference), atOrigin));
  }
}
