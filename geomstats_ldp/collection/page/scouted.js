// A study whose first participants are scouts: what was published, and what follows from it, as
// geomstats_ldp/collection/scouts.py and course.py have them.

import { ProtocolError } from "./errors.js";
import { isScale } from "./geometry.js";
import { Participant } from "./participant.js";
import { Protocol } from "./protocol.js";
import { isObject, parseStrictly, requireFields } from "./records.js";
import { sha256 } from "./sha256.js";
import { NormHistogram, NormParticipant } from "./subsets.js";
import { hasShape, unit } from "./vectors.js";

const FIELDS = ["example", "norms", "plan", "scouts", "start", "study"];
const PLAN = ["n_components", "n_features", "noise_variance", "tells_moment"];

/** Numbers that were computed anew differ by rounding at most. */
const ROUNDING = 1e-9;

const largest = (value) => Math.max(0, ...[value].flat(Infinity).map(Math.abs));

/** Whether two records say the same but for rounding, relative to the largest entry of an array. */
function agree(first, second, size = null) {
  if (Array.isArray(first) && Array.isArray(second)) {
    const unitOfBoth = size ?? largest(first);
    return first.length === second.length && first.every((entry, i) => agree(entry, second[i], unitOfBoth));
  }
  if (isObject(first) && isObject(second)) {
    const names = Object.keys(first);
    const isSame = names.length === Object.keys(second).length && names.every((name) => Object.hasOwn(second, name));
    return isSame && names.every((name) => agree(first[name], second[name]));
  }
  if (typeof first === "number" && typeof second === "number") {
    return Math.abs(first - second) <= ROUNDING * (size ?? Math.abs(first));
  }
  return first === second;
}

export class ScoutedStudy {
  /** No groups: scouts have one epsilon. */
  groups = [];

  /** @param {string} text As the service published it; the fingerprint is the digest of this text. */
  constructor(text) {
    const record = parseStrictly(text);
    requireFields(record, FIELDS, "The study");
    requireFields(record.plan, PLAN, "The plan of the study");
    this.fingerprint = sha256(text);
    /** The study if scouts found some public stand-ins, for what does not depend on them. */
    this.example = new Protocol(record.example);
    this.norms = record.norms === null ? null : new NormHistogram(record.norms);
    this.start = record.start === null ? null : new Protocol(record.start);
    this.tellsMoment = record.plan.tells_moment;
    this.mechanism = this.example.mechanism;
    const asked = [this.norms, this.start].filter((question) => question !== null);
    if (asked.length === 0) throw new ProtocolError("The study asks scouts for nothing.");
    const parts = [this.example, ...asked];
    if (!parts.every(({ mechanism }) => mechanism.epsilon === this.mechanism.epsilon)) {
      throw new ProtocolError("All questions of the study must have one epsilon.");
    }
    if (this.example.groups.length > 0) throw new ProtocolError("A study with scouts has no groups.");
    const texts = ["example", "norms", "start"].map((name) => [name, JSON.parse(record[name])]);
    this.record = { ...record, ...Object.fromEntries(texts) };
  }

  /** Refuse what its owner does not know or allow; see Participant. */
  checkAllowed({ fingerprint, maxEpsilon }) {
    const isKnown = fingerprint === undefined ? this.mechanism.epsilon <= maxEpsilon : fingerprint === this.fingerprint;
    if (!isKnown) throw new ProtocolError("The service offers another study than the one that was published.");
  }

  /**
   * Who answers a question, and the protocol in whose terms numbers are typed.
   *
   * Which question it is depends on when it was asked for, and on nothing of the datum.
   *
   * @param {object} query Record of the public question.
   * @param {function} readFound Asks the service for the text of what scouts have found.
   * @returns {object} participant, shown, and `scout`: "length", "direction" or null, for words.
   */
  async turn(query, readFound) {
    const fingerprint = query?.fingerprint;
    if (this.norms !== null && fingerprint === this.norms.fingerprint) {
      return { participant: new NormParticipant(this.norms), shown: this.example, scout: "length" };
    }
    const isStart = this.start !== null && fingerprint === this.start.fingerprint;
    const protocol = isStart ? this.start : this.studyAfter(await readFound());
    const participant = new Participant(protocol, { fingerprint, maxEpsilon: this.mechanism.epsilon });
    if (isStart && !this.tellsMoment) return { participant, shown: this.example, scout: "direction" };
    return { participant, shown: protocol, scout: null };
  }

  /** Protocol of the study, if it is what was published with the numbers that scouts have found. */
  studyAfter(text) {
    const found = parseStrictly(text);
    if (!isObject(found) || typeof found.protocol !== "string") {
      throw new ProtocolError("The service does not say what scouts have found.");
    }
    const protocol = new Protocol(found.protocol);
    const expected = this.#recordWith(found);
    // The frame, which Protocol examines, is as good as any other at the same point.
    if (!agree(expected, { ...protocol.record, basis: expected.basis })) {
      throw new ProtocolError("The study is not the one that was published, with the numbers that scouts have found.");
    }
    return protocol;
  }

  /** Record of the study with what was found in place of the stand-ins. */
  #recordWith(found) {
    const record = structuredClone(this.example.record);
    if (this.norms !== null) {
      if (!isScale(found.norm_bound)) throw new ProtocolError("Scouts must have found a bound on the length.");
      const square = (found.norm_bound / record.loss.norm_bound) ** 2;
      record.loss.norm_bound = found.norm_bound;
      record.hessian_bound *= square; // as scores, in squares of the unit
      record.mechanism.bound *= square;
    }
    if (this.start !== null) {
      if (!hasShape(found.initial_point, this.example.geometry.shape)) {
        throw new ProtocolError("Scouts must have found a point to begin at.");
      }
      const point = unit(found.initial_point);
      Object.assign(record, { initial_point: point, reference: point });
      record.working_region.center = point;
      if (this.tellsMoment) {
        const { rounds } = record;
        [rounds.known_moment, rounds.known_covariance] = found.known_moment ?? [];
      }
    }
    return record;
  }
}

/** Protocol or ScoutedStudy of a text that was published. */
export const published = (text) => (text.startsWith('{"example":') ? new ScoutedStudy(text) : new Protocol(text));
