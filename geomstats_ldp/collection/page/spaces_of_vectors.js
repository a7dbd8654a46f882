// Sphere and Euclidean space, with the closed forms of geomstats_ldp/geometry/spaces.

import { ProtocolError } from "./errors.js";
import { dot, length, plus, times, unit } from "./vectors.js";

/** An angle this close to pi leaves no digits for the direction of the logarithm. */
const ANTIPODAL_MARGIN = 1e-7;

/** Euclidean space: identity transport and a constant frame. */
export class Euclidean {
  constructor({ dim }) {
    this.dim = dim;
    this.shape = [dim];
    this.injectivityRadius = Infinity;
    this.isFlat = true;
  }

  isOn() {
    return true;
  }

  settle(point) {
    return point;
  }

  toTangent(vector) {
    return vector;
  }

  distance(a, b) {
    return length(plus(a, -1, b));
  }

  log(point, base) {
    return plus(point, -1, base);
  }

  exp(vector, base) {
    return plus(base, 1, vector);
  }

  products(vector, basis) {
    return basis.map((row) => dot(row, vector));
  }

  /** Coordinates, in the public frame at a point, of a tangent vector there. */
  coordinates(vector, _point, frame) {
    return this.products(vector, frame.basis);
  }
}

/** The unit sphere. */
export class Sphere {
  constructor({ dim }) {
    this.dim = dim;
    this.shape = [dim + 1];
    this.injectivityRadius = Math.PI;
  }

  isOn(point, tolerance) {
    return Math.abs(dot(point, point) - 1) <= tolerance;
  }

  settle(point) {
    return unit(point);
  }

  toTangent(vector, base) {
    return plus(vector, -dot(vector, base), base);
  }

  /** Angle, accurate at both ends. */
  distance(a, b) {
    return 2 * Math.atan2(length(plus(a, -1, b)), length(plus(a, 1, b)));
  }

  log(point, base) {
    const [chord, other] = [length(plus(point, -1, base)), length(plus(point, 1, base))];
    const angle = 2 * Math.atan2(chord, other);
    if (angle > Math.PI - ANTIPODAL_MARGIN) throw new ProtocolError("There is no way to an antipode.");
    // sin(angle) = |point - base| |point + base| / 2; <base, point - base> = -|point - base|^2 / 2
    const sine = 0.5 * chord * other;
    const across = plus(plus(point, -1, base), 0.5 * chord * chord, base);
    return times(sine > 0 ? angle / sine : 1, across);
  }

  exp(vector, base) {
    const angle = length(vector);
    const sinc = angle > 0 ? Math.sin(angle) / angle : 1;
    return unit(plus(times(Math.cos(angle), base), sinc, vector));
  }

  /** Parallel transport along the geodesic between two points; 1 + <a, b> = |a + b|^2 / 2. */
  transport(vector, base, end) {
    const sum = plus(base, 1, end);
    return plus(vector, (-2 * dot(vector, end)) / dot(sum, sum), sum);
  }

  products(vector, basis) {
    return basis.map((row) => dot(row, vector));
  }

  coordinates(vector, point, frame) {
    return this.products(this.transport(vector, point, frame.reference), frame.basis);
  }

  /** Distance that the retraction of a vector of the given length covers. */
  retractedDistance(size, retraction) {
    return retraction === "projection" ? Math.atan(size) : Math.min(size, this.injectivityRadius);
  }
}
