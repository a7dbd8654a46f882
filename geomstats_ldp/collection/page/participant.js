// What runs on one person's own device: protocol and datum in, one message out. As in
// geomstats_ldp/participant.py, everything public is checked before the datum is looked at; from
// there on an answer is always made, at full privacy.

import { drawCandidate, systemWords } from "./candidates.js";
import { ProtocolError } from "./errors.js";
import { hasShape } from "./vectors.js";

/** Array of a shape that is filled with ones. */
const ones = ([n, ...rest]) => Array.from({ length: n }, () => (rest.length ? ones(rest) : 1));

export class Participant {
  #hasAnswered = false;

  /**
   * @param {Protocol} protocol
   * @param {object} allowed What its owner knows or allows; one of the two has to be given.
   * @param {string} [allowed.fingerprint] Of the protocol that was published.
   * @param {number} [allowed.maxEpsilon] Largest epsilon to spend.
   * @param {string} [allowed.group] Name of the group that its owner has chosen, where there are some.
   */
  constructor(protocol, { fingerprint, maxEpsilon, group }) {
    if (fingerprint === undefined && maxEpsilon === undefined) {
      throw new ProtocolError("A fingerprint, or the largest epsilon that you allow, has to be given.");
    }
    if (fingerprint !== undefined && fingerprint !== protocol.fingerprint) {
      throw new ProtocolError("The service offers another protocol than the one that was published.");
    }
    this.group = protocol.groups.find(({ name }) => name === group);
    if (protocol.groups.length > 0 && this.group === undefined) {
      throw new ProtocolError("One of the groups of the protocol has to be chosen.");
    }
    this.mechanism = (this.group ?? protocol).mechanism;
    if (maxEpsilon !== undefined && !(this.mechanism.epsilon <= maxEpsilon)) {
      throw new ProtocolError("The protocol spends a larger epsilon than you allow.");
    }
    this.protocol = protocol;
  }

  /** Point of a query that may be answered: one of the protocol, to the group of this person. */
  checkQuery(query) {
    const point = this.protocol.checkQuery(query);
    if (this.protocol.groups.length > 0 && this.protocol.groupOf(query.index) !== this.group) {
      throw new ProtocolError("The question is for another group than the one that you have chosen.");
    }
    return point;
  }

  /** Score in frame coordinates; zero for a datum that has none. */
  score(datum, point) {
    const found = this.#scoreOrNone(datum, point);
    if (found !== null) return found;
    // The score of a public stand-in is thrown away: a refusal would be quicker by far.
    const { shape } = this.protocol.loss;
    this.#scoreOrNone(hasShape(point, shape) ? point : ones(shape), point);
    return new Array(this.protocol.geometry.dim).fill(0);
  }

  #scoreOrNone(datum, point) {
    const { loss } = this.protocol;
    try {
      loss.check(datum);
      const score = loss.coordinates(loss.clip(datum), point);
      return score.every(Number.isFinite) ? score : null;
    } catch {
      return null; // whatever it was, telling would tell of the datum
    }
  }

  /**
   * Release the randomised score of one datum at a query, once.
   *
   * @param {object} query Record of the public question.
   * @param {Array} datum In the coordinates that the protocol computes in.
   * @param {function} fill Fills a Uint32Array with random words; of the browser, but in tests.
   * @returns {string} JSON text of the message. The candidate has up to 20 digits, more than a
   *     number of JavaScript holds, so that the text is written by hand.
   */
  respond(query, datum, fill = systemWords) {
    const point = this.checkQuery(query);
    if (this.#hasAnswered) throw new ProtocolError("This device has answered.");
    this.#hasAnswered = true;
    const candidate = drawCandidate(this.mechanism, this.score(datum, point), fill);
    const { fingerprint, round, index } = query;
    return `{"candidate":${candidate},"fingerprint":"${fingerprint}","index":${index},"round":${round}}`;
  }
}
