// The public generator that turns a candidate, an integer of 64 bits, into a point of a sphere:
// geomstats_ldp/mechanisms/candidates.py describes it. Words of 32 bits are exact in both languages.

const MULTIPLIERS = [0xd2511f53, 0xcd9e8d57];
const KEY_STEPS = [0x9e3779b9, 0xbb67ae85];
const ROUNDS = 10;

/** Upper 32 bits of the product of two words, from products of halves. */
function upperProduct(a, b) {
  const [aLow, aHigh, bLow, bHigh] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16];
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const other = aLow * bHigh + (middle & 0xffff);
  return (aHigh * bHigh + (middle >>> 16) + (other >>> 16)) >>> 0;
}

/** Philox4x32 with 10 rounds (Salmon et al., 2011): four words from a counter of four and a key of two. */
export function philox4x32(counter, key) {
  let [x0, x1, x2, x3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < ROUNDS; round += 1) {
    const firstHigh = upperProduct(MULTIPLIERS[0], x0);
    const firstLow = Math.imul(MULTIPLIERS[0], x0) >>> 0;
    const secondHigh = upperProduct(MULTIPLIERS[1], x2);
    const secondLow = Math.imul(MULTIPLIERS[1], x2) >>> 0;
    x0 = (secondHigh ^ x1 ^ k0) >>> 0;
    x1 = secondLow;
    x2 = (firstHigh ^ x3 ^ k1) >>> 0;
    x3 = firstLow;
    k0 = (k0 + KEY_STEPS[0]) >>> 0;
    k1 = (k1 + KEY_STEPS[1]) >>> 0;
  }
  return [x0, x1, x2, x3];
}

/** Words of 64 bits of a candidate, each as its upper and lower half. */
export function candidateWords(high, low, width) {
  const words = [];
  for (let block = 0; 2 * block < width; block += 1) {
    const [x0, x1, x2, x3] = philox4x32([block, 0, 0, 0], [low, high]);
    words.push([x0, x1], [x2, x3]);
  }
  words.length = width;
  return words;
}

/** Midpoint (2k + 1) 2^-53 of the cell that the upper 52 bits of two words choose. */
const uniform = (high, low) => (2 * (high * 2 ** 20 + (low >>> 12)) + 1) * 2 ** -53;

/**
 * Point of the unit sphere of R^width for a candidate.
 *
 * @param {number} high Upper word of the candidate.
 * @param {number} low Lower word.
 * @param {number} width
 * @returns {number[]} Unit vector.
 */
export function spherePoint(high, low, width) {
  const normals = [];
  for (let block = 0; 2 * block < width; block += 1) {
    const [x0, x1, x2, x3] = philox4x32([block, 0, 0, 0], [low, high]);
    const radius = Math.sqrt(-2 * Math.log(uniform(x0, x1)));
    const angle = 2 * Math.PI * uniform(x2, x3);
    normals.push(radius * Math.cos(angle), radius * Math.sin(angle));
  }
  normals.length = width;
  let square = 0;
  for (const normal of normals) square += normal * normal;
  const length = Math.sqrt(square);
  return normals.map((normal) => normal / length);
}
