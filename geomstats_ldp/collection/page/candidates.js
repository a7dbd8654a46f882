// Release by candidate: integers are drawn without looking at the datum, which only decides, by a
// weight in [e^-epsilon, 1], which of them is sent. docs/theory/release_by_candidate.md has the proof.

/** Largest epsilon of a device: a larger one protects nobody, and takes a million candidates. */
export const LARGEST_EPSILON = 16;

const N_CANDIDATES = 2 ** 64;
const WORD = 2 ** 32;

/** Candidates tried at once: the first time, and at most, which is all getRandomValues gives. */
const FIRST_BLOCK = 64;
const LARGEST_BLOCK = 4096;

/** Epsilon that the weights keep to, so that a message keeps to the nominal one. */
export function releasedEpsilon(epsilon, dim) {
  const logVectors = 64 * (dim + 1) * Math.LN2;
  const deviation = Math.sinh(0.5 * epsilon) * Math.sqrt((2 * logVectors) / N_CANDIDATES);
  const excess = Math.exp(epsilon) * (logVectors / (1.5 * N_CANDIDATES) + dim * 2 ** -48);
  const relative = deviation + excess;
  return epsilon - Math.log1p((2 * relative) / (1 - relative));
}

/** Smallest weight times 2^64, rounded up; a double holds it exactly. */
export function leastLevels(epsilon, dim) {
  return Math.ceil(Math.exp(-releasedEpsilon(epsilon, dim)) * N_CANDIDATES);
}

/**
 * How many of the 2^64 levels accept a candidate: its weight times 2^64, rounded down and clamped.
 *
 * @param {number} weight Whatever it is, NaN included, the outcome is in range.
 * @param {number} least As from leastLevels.
 * @returns {number} In [least, 2^64], exact.
 */
export function acceptingLevels(weight, least) {
  if (weight >= 1) return N_CANDIDATES;
  return Math.max(weight > 0 ? Math.floor(weight * N_CANDIDATES) : 0, least);
}

/** Whether the level of the given words is one of the accepting ones. */
export function accepts(high, low, accepting) {
  const edge = Math.floor(accepting / WORD);
  return high < edge || (high === edge && low < accepting - edge * WORD);
}

/** Random words of the browser. */
export const systemWords = (words) => globalThis.crypto.getRandomValues(words);

/**
 * Draw candidates until one is accepted.
 *
 * Every candidate of a block is weighed, and the sizes of blocks depend on nothing but how many
 * were refused: how long this takes tells nothing about the score or about the candidate.
 *
 * @param {object} mechanism With epsilon, dim, point(high, low) and weigher(score).
 * @param {number[]} score Frame coordinates, finite; or what else the mechanism weighs by.
 * @param {function} fill Fills a Uint32Array with random words.
 * @returns {bigint} Candidate in [0, 2^64).
 */
export function drawCandidate(mechanism, score, fill = systemWords) {
  const least = leastLevels(mechanism.epsilon, mechanism.dim);
  const weight = mechanism.weigher(score);
  for (let size = FIRST_BLOCK; ; size = Math.min(2 * size, LARGEST_BLOCK)) {
    const words = fill(new Uint32Array(4 * size));
    let chosen = -1;
    for (let i = size - 1; i >= 0; i -= 1) {
      const point = mechanism.point(words[2 * i + 1], words[2 * i]);
      const level = 2 * (size + i);
      const accepting = acceptingLevels(weight(point), least);
      chosen = accepts(words[level + 1], words[level], accepting) ? i : chosen;
    }
    if (chosen >= 0) return (BigInt(words[2 * chosen + 1]) << 32n) | BigInt(words[2 * chosen]);
  }
}
