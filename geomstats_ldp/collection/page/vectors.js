// Vectors as arrays of numbers.

/** Inner product. */
export function dot(a, b) {
  let total = 0;
  for (let i = 0; i < a.length; i += 1) total += a[i] * b[i];
  return total;
}

/** Largest absolute entry. */
export const largestEntry = (vector) => vector.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

/** Euclidean length; scaled before squaring, so that no square leaves the range of doubles. */
export function length(vector) {
  const unit = largestEntry(vector) || 1;
  const scaled = vector.map((x) => x / unit);
  return unit * Math.sqrt(dot(scaled, scaled));
}

/** Sum of a vector and a multiple of another. */
export const plus = (a, factor, b) => a.map((x, i) => x + factor * b[i]);

/** Multiple of a vector. */
export const times = (factor, vector) => vector.map((x) => factor * x);

/** A vector scaled to unit length; the zero vector stays as it is. */
export function unit(vector) {
  const largest = largestEntry(vector) || 1;
  const scaled = times(1 / largest, vector);
  const size = Math.sqrt(dot(scaled, scaled)) || 1;
  return scaled.map((x) => x / size);
}

/** A vector longer than a bound is scaled back to it. */
export function clipToNorm(vector, bound) {
  const size = Math.max(largestEntry(vector), bound);
  const scaled = vector.map((x) => x / size);
  const scaledLength = Math.sqrt(dot(scaled, scaled));
  if (!(scaledLength > bound / size)) return vector;
  return scaled.map((x) => x * (bound / scaledLength));
}

/** Whether an array has the given shape, with finite numbers for entries. */
export function hasShape(array, shape) {
  if (shape.length === 0) return typeof array === "number" && Number.isFinite(array);
  if (!Array.isArray(array) || array.length !== shape[0]) return false;
  return array.every((entry) => hasShape(entry, shape.slice(1)));
}
