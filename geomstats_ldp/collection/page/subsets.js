// The question of a scout in which of some bins the length of a vector lies, and its mechanism:
// geomstats_ldp/mechanisms/subset_selection.py and geomstats_ldp/scouting/histogram.py.

import { candidateWords } from "./philox.js";
import { drawCandidate, releasedEpsilon, systemWords } from "./candidates.js";
import { ProtocolError } from "./errors.js";
import { isScale } from "./geometry.js";
import { checkEpsilon } from "./mechanisms.js";
import { checkName, parseStrictly, requireFields } from "./records.js";
import { sha256 } from "./sha256.js";
import { length } from "./vectors.js";

const FIELDS = ["epsilon", "highest", "lowest", "n_bins"];

/** One of several bins is answered by a set of them, in which it is e^epsilon times as likely. */
export class SubsetSelection {
  constructor(epsilon, dim) {
    this.epsilon = epsilon;
    this.dim = dim;
    this.leastWeight = Math.exp(-releasedEpsilon(epsilon, dim));
    this.size = this.#bestSize();
  }

  /** Size of the sets with the smallest error. */
  #bestSize() {
    const { dim: k, epsilon } = this;
    let [best, least] = [0, Infinity];
    for (let size = 1; size <= Math.floor(k / 2); size += 1) {
      const own = size / (size + (k - size) * Math.exp(-epsilon));
      const other = (own * (size - 1) + (1 - own) * size) / (k - 1);
      const variance = (other * (1 - other)) / (own - other) ** 2;
      if (variance < least) [best, least] = [size, variance];
    }
    return best;
  }

  /** Set of a candidate: the places of its smallest words, the earlier one first among equals. */
  point(high, low) {
    const words = candidateWords(high, low, this.dim);
    const order = words.map((_, place) => place);
    order.sort((i, j) => words[i][0] - words[j][0] || words[i][1] - words[j][1] || i - j);
    const set = new Array(this.dim).fill(false);
    for (const place of order.slice(0, this.size)) set[place] = true;
    return set;
  }

  /** Weight of a set, as a function of it, for somebody who is in a bin. */
  weigher(bin) {
    return (set) => (set[bin] ? 1 : this.leastWeight);
  }
}

/** The public question. */
export class NormHistogram {
  /** @param {string} text As it was published; the fingerprint is the digest of this text. */
  constructor(text) {
    const record = parseStrictly(text);
    requireFields(record, FIELDS, "The question for a length");
    const { epsilon, lowest, highest, n_bins: nBins } = record;
    checkEpsilon(epsilon);
    const isRange = isScale(lowest) && isScale(highest) && lowest < highest;
    if (!isRange || !Number.isInteger(nBins) || nBins < 2 || nBins > 1000) {
      throw new ProtocolError("The question for a length must have between 2 and 1000 ranges of lengths.");
    }
    this.record = record;
    this.fingerprint = sha256(text);
    this.mechanism = new SubsetSelection(epsilon, nBins);
    const step = Math.log(highest / lowest) / nBins;
    /** Lengths at which one bin ends and the next begins. */
    this.edges = Array.from({ length: nBins - 1 }, (_, i) => lowest * Math.exp((i + 1) * step));
  }

  /** Bin of the length of a vector; the first one for what has none, as telling would tell of it. */
  binOf(datum) {
    try {
      const size = length(datum);
      return this.edges.filter((edge) => edge <= size).length;
    } catch {
      return 0;
    }
  }
}

/** A scout who is asked for a length. */
export class NormParticipant {
  #hasAnswered = false;

  /** @param {NormHistogram} histogram Of a study that its owner has agreed to. */
  constructor(histogram) {
    this.histogram = histogram;
  }

  /** Refuse a query of another question. */
  checkQuery(query) {
    checkName(query, this.histogram.fingerprint);
  }

  /** Release the bin of the length of one datum, once; as Participant.respond. */
  respond(query, datum, fill = systemWords) {
    this.checkQuery(query);
    if (this.#hasAnswered) throw new ProtocolError("This device has answered.");
    this.#hasAnswered = true;
    const candidate = drawCandidate(this.histogram.mechanism, this.histogram.binOf(datum), fill);
    const { fingerprint, round, index } = query;
    return `{"candidate":${candidate},"fingerprint":"${fingerprint}","index":${index},"round":${round}}`;
  }
}
