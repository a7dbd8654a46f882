// Reading a protocol and its queries, with all checks that a device makes before it looks at a datum.

import { ProtocolError } from "./errors.js";
import { Geometry, queryRegion } from "./geometry.js";
import { lossFromSpec } from "./losses.js";
import { mechanismFromSpec } from "./mechanisms.js";
import { checkName, isObject, parseStrictly, requireFields } from "./records.js";
import { sha256 } from "./sha256.js";
import { dot, hasShape } from "./vectors.js";

/** Version of the record that this page reads. */
const FORMAT = 2;

const FIELDS = [
  ..."format space loss mechanism working_region retraction reference basis initial_point".split(" "),
  ..."directions preconditioner radius gain inference hessian_bound pairs_per_round".split(" "),
  ..."n_participants rounds".split(" "),
];
/** Models of hyperbolic space that a protocol may name for typing data; scores are on the hyperboloid. */
const MODELS = ["poincare_ball", "half_space"];
const LARGEST_GROUPS = 64;
const LONGEST_NAME = 64;

/** Sizes that a device should give, as geomstats_ldp/protocol/limits.py has them. */
const LIMITS = { dim: 512, entries: 4096, directions: 8 * 512 };

function checkLimits({ space, mechanism, basis, directions }) {
  const side = isObject(space) && (Object.hasOwn(space, "n") ? space.n : space.dim);
  const entries = Object.hasOwn(space, "n") ? side * side : side + 1;
  const fits =
    Number.isInteger(side) &&
    side >= 1 &&
    side <= LIMITS.dim &&
    entries <= LIMITS.entries &&
    isObject(mechanism) &&
    mechanism.dim <= LIMITS.dim &&
    Array.isArray(basis) &&
    basis.length <= LIMITS.dim &&
    Array.isArray(directions) &&
    directions.length <= LIMITS.directions;
  if (!fits) throw new ProtocolError("The protocol asks for more than a device should give.");
}

/** Directions are a tight frame with zero sum: every coordinate is asked about evenly. */
function checkDirections(directions, dim) {
  const fault = new ProtocolError("The query directions must be a tight frame.");
  if (directions.length === 0 || !hasShape(directions, [directions.length, dim])) throw fault;
  for (let i = 0; i < dim; i += 1) {
    const column = directions.map((row) => row[i]);
    const isCentred = Math.abs(column.reduce((sum, x) => sum + x, 0)) <= 1e-9;
    const isTight = Array.from({ length: dim }, (_, j) => {
      const moment = dot(column, directions.map((row) => row[j])) / directions.length;
      return Math.abs(moment - (i === j ? 1 / dim : 0)) <= 1e-9 + 1e-5 / dim;
    }).every(Boolean);
    if (!isCentred || !isTight) throw fault;
  }
  if (!directions.every((row) => Math.abs(dot(row, row) - 1) <= 3e-5)) throw fault;
}

/** Data may be given in another model, where the space has one. */
function checkCoordinates(record) {
  const isKnown = record.space.name === "Hyperboloid" && MODELS.includes(record.coordinates);
  if (Object.hasOwn(record, "coordinates") && !isKnown) {
    throw new ProtocolError("The protocol names coordinates that the space does not have.");
  }
}

/** Groups of people with a mechanism of their own: records with a name and a mechanism. */
function checkGroups(groups) {
  const isList = Array.isArray(groups) && groups.length >= 1 && groups.length <= LARGEST_GROUPS;
  if (!isList) throw new ProtocolError("The protocol must name a few groups.");
  for (const group of groups) {
    requireFields(group, ["name", "mechanism"], "A group");
    const { name, mechanism } = group;
    const isNamed = typeof name === "string" && name.length >= 1 && name.length <= LONGEST_NAME;
    if (!isNamed) throw new ProtocolError("A group must have a name.");
    if (!isObject(mechanism) || !(mechanism.dim <= LIMITS.dim)) {
      throw new ProtocolError("The protocol asks for more than a device should give.");
    }
  }
  const names = groups.map(({ name }) => name);
  if (new Set(names).size < names.length) throw new ProtocolError("Two groups have the same name.");
}

/** A protocol that a device may answer. */
export class Protocol {
  /** @param {string} text As the service published it; the fingerprint is the digest of this text. */
  constructor(text) {
    const record = parseStrictly(text);
    requireFields(record, FIELDS, "The protocol", ["coordinates", "groups"]);
    if (record.format !== FORMAT) throw new ProtocolError(`The protocol must have format ${FORMAT}.`);
    for (const name of ["loss", "working_region", "inference"]) {
      if (!isObject(record[name])) throw new ProtocolError(`The protocol has no ${name}.`);
    }
    checkLimits(record);
    this.fingerprint = sha256(text);
    this.record = record;
    if (Object.hasOwn(record, "groups")) checkGroups(record.groups);
    this.mechanism = mechanismFromSpec(record.mechanism);
    /** Names and mechanisms of the groups that people choose from; none where all have one epsilon. */
    this.groups = (record.groups ?? []).map(({ name, mechanism }) => ({ name, mechanism: mechanismFromSpec(mechanism) }));
    this.geometry = new Geometry(record);
    if (![this, ...this.groups].every(({ mechanism }) => mechanism.dim === this.geometry.dim)) {
      throw new ProtocolError("The mechanism must have the dimension of the space.");
    }
    if ((record.rounds === null) === (record.gain === null)) {
      throw new ProtocolError("A protocol must have a gain or rounds, and not both.");
    }
    this.region = queryRegion(record, this.geometry);
    this.geometry.checkPoint(record.initial_point, "The initial point");
    checkDirections(record.directions, this.geometry.dim);
    checkCoordinates(record);
    this.loss = lossFromSpec(record.loss, this.geometry);
  }

  /** Group that a query asks, by its index: those of one group follow each other. */
  groupOf(index) {
    const { rounds, directions, pairs_per_round: pairs } = this.record;
    const ofRounds = rounds !== null && (rounds.query ?? null) !== null ? 1 : directions.length;
    return this.groups[Math.floor(index / (rounds === null ? 2 * pairs : ofRounds))];
  }

  /** Point of a query that may be answered, put on the manifold exactly. */
  checkQuery(query) {
    checkName(query, this.fingerprint);
    const point = this.geometry.checkPoint(query.point, "The question");
    if (!this.region.contains(point)) {
      throw new ProtocolError("The question lies outside of the public region of queries.");
    }
    return point;
  }
}
