// The scores of a datum at a query, after geomstats_ldp/losses: the only functions that see a datum.

import { DatumError, ProtocolError } from "./errors.js";
import { isScale } from "./geometry.js";
import { dot, hasShape, clipToNorm, plus, times, unit } from "./vectors.js";

/** Relative distance off the manifold that is taken for rounding of the data. */
const ON_MANIFOLD = 1e-6;

/** Points this close to the cut locus of another have no usable direction from it. */
const CUT_MARGIN = 1e-6;

function requireSpace(geometry, ...names) {
  if (!names.includes(geometry.name)) {
    throw new ProtocolError(`This page cannot compute this loss on the space “${geometry.name}”.`);
  }
}

/** What a loss is: the shape of a datum, its public bounds, and the score at a query. */
class Loss {
  constructor(geometry) {
    this.geometry = geometry;
  }

  /** Refuse a datum that cannot be used as it is. */
  check(datum) {
    if (!hasShape(datum, this.shape)) throw new DatumError("Every entry must be a finite number.");
  }

  /** Score of a clipped datum at a query, in frame coordinates. */
  coordinates(datum, point) {
    return this.geometry.coordinates(this.score(datum, point), point);
  }
}

class VonMisesFisher extends Loss {
  constructor(spec, geometry) {
    super(geometry);
    requireSpace(geometry, "Hypersphere");
    if (!isScale(spec.kappa)) throw new ProtocolError("The concentration must be a size from 1e-40 to 1e40.");
    this.kappa = spec.kappa;
    this.shape = geometry.shape;
  }

  clip(datum) {
    return unit(datum);
  }

  score(datum, point) {
    return times(-this.kappa, plus(datum, -dot(datum, point), point));
  }
}

/** Losses of vectors that are clipped to a norm. */
class BoundedVectors extends Loss {
  constructor(spec, geometry) {
    super(geometry);
    if (!isScale(spec.norm_bound)) throw new ProtocolError("The bound on the norm must be a size from 1e-40 to 1e40.");
    this.normBound = spec.norm_bound;
  }

  clip(datum) {
    return clipToNorm(datum, this.normBound);
  }
}

class PCA extends BoundedVectors {
  constructor(spec, geometry) {
    super(spec, geometry);
    requireSpace(geometry, "Hypersphere");
    this.shape = geometry.shape;
  }

  score(datum, point) {
    const along = dot(datum, point);
    return times(-along, plus(datum, -along, point));
  }
}

class SPDLikelihood extends BoundedVectors {
  constructor(spec, geometry) {
    super(spec, geometry);
    requireSpace(geometry, "SPDAffineInvariant");
    this.shape = geometry.shape.slice(0, 1);
  }

  score(datum, point) {
    return point.map((row, i) => row.map((entry, j) => 0.5 * (entry - datum[i] * datum[j])));
  }
}

/** Squared distance of data in a public ball; those outside are moved to its edge. */
class Frechet extends Loss {
  constructor(spec, geometry) {
    super(geometry);
    if (!isScale(spec.data_radius)) throw new ProtocolError("The radius of the data must be a size from 1e-40 to 1e40.");
    this.dataRadius = spec.data_radius;
    this.center = geometry.checkPoint(spec.center, "The centre of the data");
    this.shape = geometry.shape;
  }

  check(datum) {
    super.check(datum);
    if (!this.geometry.space.isOn(datum, ON_MANIFOLD)) throw new DatumError("This is not a point of the space.");
  }

  /** Distance from the centre of the data. */
  distance(datum) {
    return this.geometry.space.distance(this.center, this.geometry.space.settle(datum));
  }

  clip(datum) {
    const { space } = this.geometry;
    const point = space.settle(datum);
    const distance = space.distance(this.center, point);
    if (distance > space.injectivityRadius - CUT_MARGIN) return this.#aside();
    if (!(distance < Infinity)) throw new DatumError("This is too far out to be computed with.");
    if (distance <= this.dataRadius) return point;
    const scale = this.dataRadius / distance;
    const shorten = (entry) => (Array.isArray(entry) ? entry.map(shorten) : scale * entry);
    return space.exp(space.log(point, this.center).map(shorten), this.center);
  }

  /** Where a datum at the cut locus of the centre is moved: along the first vector of the frame. */
  #aside() {
    const { space, frame } = this.geometry;
    const first = space.transport(frame.basis[0], frame.reference, this.center);
    return space.exp(times(this.dataRadius, first), this.center);
  }

  score(datum, point) {
    const turned = (entry) => (Array.isArray(entry) ? entry.map(turned) : -entry);
    return this.geometry.space.log(datum, point).map(turned);
  }
}

/** Squared distance near the data, distance far away. */
class PseudoHuber extends Frechet {
  constructor(spec, geometry) {
    super(spec, geometry);
    if (!isScale(spec.scale)) throw new ProtocolError("The scale must be a size from 1e-40 to 1e40.");
    this.scale = spec.scale;
  }

  coordinates(datum, point) {
    const turned = super.coordinates(datum, point);
    const ratios = times(1 / this.scale, turned);
    return times(1 / Math.sqrt(1 + dot(ratios, ratios)), turned);
  }
}

const LOSSES = {
  von_mises_fisher: VonMisesFisher,
  pca: PCA,
  spd_likelihood: SPDLikelihood,
  frechet: Frechet,
  pseudo_huber: PseudoHuber,
};

/** Make the loss of a record, or say that this page does not have it. */
export function lossFromSpec(spec, geometry) {
  if (!Object.hasOwn(LOSSES, spec.name)) {
    throw new ProtocolError(`This page cannot compute the loss “${spec.name}”.`);
  }
  return new LOSSES[spec.name](spec, geometry);
}
