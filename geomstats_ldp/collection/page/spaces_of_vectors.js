// Sphere and Euclidean space, with the closed forms of geomstats_ldp/geometry/spaces.

import { dot, length, plus, unit } from "./vectors.js";

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

  products(vector, basis) {
    return basis.map((row) => dot(row, vector));
  }

  coordinates(vector, point, frame) {
    // Transport to the reference along the geodesic; 1 + <a, b> = |a + b|^2 / 2.
    const sum = plus(frame.reference, 1, point);
    const scale = (2 * dot(vector, frame.reference)) / dot(sum, sum);
    return this.products(plus(vector, -scale, sum), frame.basis);
  }

  /** Distance that the retraction of a vector of the given length covers. */
  retractedDistance(size, retraction) {
    return retraction === "projection" ? Math.atan(size) : Math.min(size, this.injectivityRadius);
  }
}
