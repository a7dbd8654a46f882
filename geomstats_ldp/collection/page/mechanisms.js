// The two mechanisms that are released by candidate, as geomstats_ldp/mechanisms has them.

import { LARGEST_EPSILON, releasedEpsilon } from "./candidates.js";
import { capThreshold } from "./caps.js";
import { ProtocolError } from "./errors.js";
import { spherePoint } from "./philox.js";
import { dot } from "./vectors.js";

/** Relative size of an entry that is as good as zero: products of subnormal numbers are slow. */
const TINY = 1e-150;

/** Score over its bound, projected radially to the unit ball, and its squared length. */
export function ballPoint(score, bound) {
  const largest = Math.max(...score.map(Math.abs));
  const unit = Math.max(largest, bound);
  let point = score.map((entry) => entry / unit);
  let square = dot(point, point);
  if (!(largest <= bound && square <= 1)) {
    const length = Math.sqrt(square);
    point = point.map((entry) => entry / length);
    square = 1;
  }
  return { point: point.map((entry) => (Math.abs(entry) < TINY ? 0 : entry)), square };
}

class Mechanism {
  constructor({ epsilon, dim, bound }) {
    this.epsilon = epsilon;
    this.dim = dim;
    this.bound = bound;
    this.leastWeight = Math.exp(-releasedEpsilon(epsilon, dim));
  }

  /** What a candidate stands for: a point of the sphere. */
  point(high, low) {
    return spherePoint(high, low, this.candidateWidth);
  }
}

/** Lifted PrivUnit: weight one in a cap about the lifted score, the least weight outside. */
export class PrivUnit extends Mechanism {
  constructor(spec) {
    super(spec);
    this.candidateWidth = this.dim + 1;
    this.threshold = capThreshold(this.epsilon, this.dim);
  }

  /** Weight of a point of the sphere, as a function made once a score. */
  weigher(score) {
    const { point, square } = ballPoint(score, this.bound);
    const lifted = [...point, Math.sqrt(1 - square)];
    return (candidate) => (dot(candidate, lifted) >= this.threshold ? 1 : this.leastWeight);
  }
}

/** Duchi, Jordan and Wainwright: the weight depends on the side of the score, and on its length. */
export class L2Ball extends Mechanism {
  constructor(spec) {
    super(spec);
    this.candidateWidth = this.dim;
  }

  weigher(score) {
    const { point, square } = ballPoint(score, this.bound);
    const length = Math.sqrt(square);
    const contrast = (1 - this.leastWeight) / (1 + this.leastWeight);
    return (candidate) => {
      const side = dot(candidate, point) >= 0 ? length : -length;
      return (1 + contrast * side) / (1 + contrast);
    };
  }
}

const MECHANISMS = { privunit: PrivUnit, l2_ball: L2Ball };

/** Refuse an epsilon with which no device answers. */
export function checkEpsilon(epsilon) {
  if (typeof epsilon !== "number" || !(epsilon >= 1e-3 && epsilon <= LARGEST_EPSILON)) {
    throw new ProtocolError(`Epsilon must lie between 0.001 and ${LARGEST_EPSILON}; it is ${epsilon}.`);
  }
}

/** Make the mechanism of a record, or say why a device cannot release with it. */
export function mechanismFromSpec(spec) {
  const { name, epsilon, delta, dim, bound } = spec;
  if (!Object.hasOwn(MECHANISMS, name)) {
    throw new ProtocolError(`This page cannot answer with the mechanism “${name}”.`);
  }
  checkEpsilon(epsilon);
  if (delta !== 0) throw new ProtocolError("Delta must be 0 for this mechanism.");
  if (!Number.isInteger(dim) || dim < 1) throw new ProtocolError("The mechanism has no dimension.");
  if (typeof bound !== "number" || !(bound >= 1e-100 && bound <= 1e100)) {
    throw new ProtocolError("The bound of the mechanism must lie between 1e-100 and 1e100.");
  }
  return new MECHANISMS[name](spec);
}
