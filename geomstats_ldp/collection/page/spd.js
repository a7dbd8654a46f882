// Symmetric positive definite matrices with the affine-invariant and with the log-Euclidean metric:
// the closed forms of geomstats_ldp/geometry/spaces/spd_affine.py and spd_log_euclidean.py.

import {
  cholesky,
  congruence,
  diagonal,
  difference,
  eigen,
  expCongruence,
  frobenius,
  matrix,
  product,
  symmetricPart,
  transpose,
  whiten,
} from "./matrices.js";
import { length } from "./vectors.js";

class SPD {
  constructor({ n }) {
    this.dim = (n * (n + 1)) / 2;
    this.shape = [n, n];
    this.injectivityRadius = Infinity;
  }

  /** Symmetric and positive definite; judged with a unit diagonal, as units make no difference. */
  isOn(point, tolerance) {
    const scales = point.map((row, i) => Math.sqrt(row[i]));
    const scaled = matrix(point.length, (i, j) => point[i][j] / scales[i] / scales[j]);
    const gap = Math.max(...scaled.map((row, i) => Math.max(...row.map((x, j) => Math.abs(x - scaled[j][i])))));
    return gap <= tolerance && eigen(symmetricPart(scaled)).values.every((value) => value > 0);
  }

  settle(point) {
    return symmetricPart(point);
  }

  toTangent(vector) {
    return symmetricPart(vector);
  }

  products(vector, basis, base) {
    const flat = this.flat(vector, base);
    return basis.map((row) => frobenius(this.flat(row, base), flat));
  }

  exp(vector, base) {
    return symmetricPart(this.rawExp(vector, base));
  }
}

/** <U, V>_X = tr(X^-1 U X^-1 V). With X = L L^T the congruence by L^-1 moves X to the identity. */
export class SPDAffine extends SPD {
  flat(vector, base) {
    return whiten(cholesky(base), vector);
  }

  /**
   * L, and eigenvalues and vectors of M = L^-1 Y L^-T with the logarithms of the former. Close to the
   * identity they are those of M - 1, so that small displacements keep their digits.
   */
  relative(base, point) {
    const factor = cholesky(base);
    const gap = whiten(factor, difference(point, base));
    const isClose = frobenius(gap, gap) < 0.25;
    const { values, vectors } = eigen(isClose ? gap : whiten(factor, point));
    const logs = values.map((value) => (isClose ? Math.log1p(value) : Math.log(value)));
    const ratios = values.map((value) => (isClose ? 1 + value : value));
    return { factor, vectors, logs, ratios };
  }

  distance(a, b) {
    return length(this.relative(a, b).logs);
  }

  log(point, base) {
    const { factor, vectors, logs } = this.relative(base, point);
    return congruence(product(factor, vectors), diagonal(logs));
  }

  rawExp(vector, base) {
    const factor = cholesky(base);
    const { values, vectors } = eigen(whiten(factor, vector));
    return expCongruence(product(factor, vectors), values);
  }

  coordinates(vector, point, { reference, basis }) {
    // Back from X = L M L^T to the reference L L^T: E V E^T with E = L M^(-1/2) L^-1.
    const { factor, vectors, ratios } = this.relative(reference, point);
    const inverseRoot = congruence(vectors, diagonal(ratios.map((ratio) => 1 / Math.sqrt(ratio))));
    const flat = congruence(inverseRoot, whiten(factor, vector));
    return basis.map((row) => frobenius(flat, whiten(factor, row)));
  }
}

/** Divided difference (log a - log b) / (a - b), also for nearly equal arguments. */
function logSlope(a, b) {
  const gap = a - b;
  if (gap === 0) return 1 / a;
  const ratio = gap / b;
  return (Math.abs(ratio) < 0.5 ? Math.log1p(ratio) : Math.log(a) - Math.log(b)) / gap;
}

/** The Frobenius metric of matrix logarithms. */
export class SPDLogEuclidean extends SPD {
  constructor(spec) {
    super(spec);
    this.isFlat = true;
  }

  /** Differential of the logarithm at a point (Daleckii-Krein). */
  flat(vector, base) {
    const { values, vectors } = eigen(base);
    const inner = congruence(transpose(vectors), vector);
    return congruence(
      vectors,
      matrix(values.length, (i, j) => inner[i][j] * logSlope(values[i], values[j])),
    );
  }

  /** Log Y - log X, in a form in which the logarithms need not cancel. */
  logGap(point, base) {
    const [from, to] = [eigen(base), eigen(point)];
    const inner = product(product(transpose(from.vectors), difference(point, base)), to.vectors);
    const scaled = matrix(inner.length, (i, j) => inner[i][j] * logSlope(from.values[i], to.values[j]));
    return symmetricPart(product(product(from.vectors, scaled), transpose(to.vectors)));
  }

  distance(a, b) {
    return length(this.logGap(b, a).flat());
  }

  log(point, base) {
    const { values, vectors } = eigen(base);
    const inner = congruence(transpose(vectors), this.logGap(point, base));
    return congruence(
      vectors,
      matrix(values.length, (i, j) => inner[i][j] / logSlope(values[i], values[j])),
    );
  }

  rawExp(vector, base) {
    const { values, vectors } = eigen(base);
    const inner = congruence(transpose(vectors), vector);
    const scaled = matrix(
      values.length,
      (i, j) => inner[i][j] * logSlope(values[i], values[j]) + (i === j ? Math.log(values[i]) : 0),
    );
    const end = eigen(symmetricPart(scaled));
    return expCongruence(product(vectors, end.vectors), end.values);
  }

  coordinates(vector, point, { reference, basis }) {
    const flat = this.flat(vector, point);
    return basis.map((row) => frobenius(flat, this.flat(row, reference)));
  }
}
