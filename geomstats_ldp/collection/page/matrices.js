// Symmetric matrices as arrays of rows, after geomstats_ldp/geometry/spaces/symmetric_matrices.py.

/** Cyclic Jacobi converges quadratically: five to eight sweeps do. */
const MOST_SWEEPS = 30;

/** Matrix with the entries f(i, j). */
export const matrix = (n, f) =>
  Array.from({ length: n }, (_, i) => Array.from({ length: n }, (__, j) => f(i, j)));

/** Diagonal matrix. */
export const diagonal = (values) => matrix(values.length, (i, j) => (i === j ? values[i] : 0));

/** Product a b. */
export const product = (a, b) =>
  matrix(a.length, (i, j) => a[i].reduce((total, entry, k) => total + entry * b[k][j], 0));

/** Transpose. */
export const transpose = (a) => matrix(a.length, (i, j) => a[j][i]);

/** Half the sum with the transpose. */
export const symmetricPart = (a) => matrix(a.length, (i, j) => (a[i][j] + a[j][i]) / 2);

/** Difference a - b. */
export const difference = (a, b) => matrix(a.length, (i, j) => a[i][j] - b[i][j]);

/** Symmetric part of a b a^T. */
export const congruence = (a, b) => symmetricPart(product(product(a, b), transpose(a)));

/** Frobenius product. */
export const frobenius = (a, b) =>
  a.reduce((sum, row, i) => row.reduce((total, entry, j) => total + entry * b[i][j], sum), 0);

/** Vectors diag(exp(values)) vectors^T, a Gram matrix: never indefinite. */
export function expCongruence(vectors, values) {
  const half = matrix(values.length, (i, j) => Math.exp(values[j] / 2) * vectors[i][j]);
  return product(half, transpose(half));
}

/** Lower triangular L with L L^T = a; NaN where it is not positive definite. */
export function cholesky(a) {
  const out = diagonal(a.map(() => 0));
  for (let j = 0; j < a.length; j += 1) {
    for (let i = j; i < a.length; i += 1) {
      let total = a[i][j];
      for (let k = 0; k < j; k += 1) total -= out[i][k] * out[j][k];
      if (i !== j) out[i][j] = total / out[j][j];
      else out[j][j] = total > 0 ? Math.sqrt(total) : NaN;
    }
  }
  return out;
}

/** L^-1 a for lower triangular L; substitution minds no units. */
function solved(factor, a) {
  const out = diagonal(a.map(() => 0));
  for (let j = 0; j < a.length; j += 1) {
    for (let i = 0; i < a.length; i += 1) {
      let total = a[i][j];
      for (let k = 0; k < i; k += 1) total -= factor[i][k] * out[k][j];
      out[i][j] = total / factor[i][i];
    }
  }
  return out;
}

/** L^-1 a L^-T, made symmetric. */
export const whiten = (factor, a) => symmetricPart(solved(factor, transpose(solved(factor, a))));

/**
 * Eigenvalues and eigenvectors (columns) of a symmetric matrix, in no order.
 *
 * Entries are rotated away until they are negligible against both diagonal entries, so that small
 * eigenvalues of graded matrices keep their digits.
 */
export function eigen(symmetric) {
  const a = symmetric.map((row) => row.slice());
  const vectors = diagonal(a.map(() => 1));
  for (let sweep = 0, rotated = true; rotated && sweep < MOST_SWEEPS; sweep += 1) {
    rotated = false;
    for (let p = 0; p < a.length - 1; p += 1) {
      for (let q = p + 1; q < a.length; q += 1) {
        const size = Math.sqrt(Math.abs(a[p][p])) * Math.sqrt(Math.abs(a[q][q]));
        if (Math.abs(a[p][q]) > 0.25 * Number.EPSILON * size) {
          rotate(a, vectors, p, q);
          rotated = true;
        }
      }
    }
    rotated = rotated && a.length > 2; // one rotation is the closed form for 2 x 2
  }
  return { values: a.map((row, i) => row[i]), vectors };
}

/** One Jacobi rotation, which makes entry (p, q) zero. */
function rotate(a, vectors, p, q) {
  const entry = a[p][q];
  const quotient = (a[q][q] - a[p][p]) / (2 * entry);
  const size = 1 / (Math.abs(quotient) + Math.sqrt(1 + quotient * quotient));
  const tangent = quotient < 0 ? -size : size;
  const cosine = 1 / Math.sqrt(1 + tangent * tangent);
  const sine = tangent * cosine;
  const ratio = sine / (1 + cosine);
  a[p][p] -= tangent * entry;
  a[q][q] += tangent * entry;
  a[p][q] = 0;
  a[q][p] = 0;
  for (let k = 0; k < a.length; k += 1) {
    if (k !== p && k !== q) {
      const [atP, atQ] = [a[k][p], a[k][q]];
      a[k][p] = atP - sine * (atQ + ratio * atP);
      a[k][q] = atQ + sine * (atP - ratio * atQ);
      a[p][k] = a[k][p];
      a[q][k] = a[k][q];
    }
    const [atP, atQ] = [vectors[k][p], vectors[k][q]];
    vectors[k][p] = atP - sine * (atQ + ratio * atP);
    vectors[k][q] = atQ + sine * (atP - ratio * atQ);
  }
}
