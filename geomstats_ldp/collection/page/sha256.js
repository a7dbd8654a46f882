// SHA-256 (FIPS 180-4) of a text. crypto.subtle has it too, but only in secure contexts.

const isPrime = (n) => {
  for (let factor = 2; factor * factor <= n; factor += 1) if (n % factor === 0) return false;
  return true;
};

// First 32 bits of the fractional parts of roots of the first primes, as the standard defines.
const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n += 1) if (isPrime(n)) PRIMES.push(n);
const fraction = (x) => Math.floor((x - Math.floor(x)) * 2 ** 32) >>> 0;
const CONSTANTS = PRIMES.map((p) => fraction(Math.cbrt(p)));
const START = PRIMES.slice(0, 8).map((p) => fraction(Math.sqrt(p)));

const turn = (x, n) => (x >>> n) | (x << (32 - n));

function padded(bytes) {
  const out = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  out.set(bytes);
  out[bytes.length] = 0x80;
  const view = new DataView(out.buffer);
  view.setUint32(out.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(out.length - 4, (bytes.length << 3) >>> 0);
  return view;
}

function schedule(view, offset, words) {
  for (let t = 0; t < 16; t += 1) words[t] = view.getUint32(offset + 4 * t);
  for (let t = 16; t < 64; t += 1) {
    const a = words[t - 15];
    const b = words[t - 2];
    const low = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3);
    const high = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
    words[t] = (words[t - 16] + low + words[t - 7] + high) >>> 0;
  }
}

function compress(state, words) {
  let [a, b, c, d, e, f, g, h] = state;
  for (let t = 0; t < 64; t += 1) {
    const choice = (e & f) ^ (~e & g);
    const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + choice + CONSTANTS[t] + words[t]) | 0;
    const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [a, b, c, d, e, f, g, h] = [(one + two) | 0, a, b, c, (d + one) | 0, e, f, g];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => {
    state[i] = (state[i] + word) >>> 0;
  });
}

/** Hexadecimal SHA-256 of a text in UTF-8. */
export function sha256(text) {
  const view = padded(new TextEncoder().encode(text));
  const state = Uint32Array.from(START);
  const words = new Uint32Array(64);
  for (let offset = 0; offset < view.byteLength; offset += 64) {
    schedule(view, offset, words);
    compress(state, words);
  }
  return Array.from(state, (word) => word.toString(16).padStart(8, "0")).join("");
}
