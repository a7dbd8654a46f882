// From the record of a protocol to the space with its public frame, and to the region of queries.

import { ProtocolError } from "./errors.js";
import { Hyperboloid } from "./hyperboloid.js";
import { eigen } from "./matrices.js";
import { Euclidean, Sphere } from "./spaces_of_vectors.js";
import { SPDAffine, SPDLogEuclidean } from "./spd.js";
import { hasShape, length } from "./vectors.js";

const SPACES = {
  Euclidean,
  Hypersphere: Sphere,
  Hyperboloid,
  SPDAffineInvariant: SPDAffine,
  SPDLogEuclidean,
};

/** How far over the edge of a region rounding may put a point, relative to its size. */
const EDGE = 1e-12;

/** Distance past the edge of the query region, relative to its radius, that is rounding. */
const QUERY_EDGE = 1e-6;

/** Roundings of the largest coordinate of a point, from all that is computed with it. */
const N_ROUNDINGS = 16;

/** Relative distance off the manifold that a public point may have. */
const ON_MANIFOLD = 1e-8;

const deepFlat = (array) => array.flat(Infinity);

/** A space with the public frame of a protocol. */
export class Geometry {
  constructor(record) {
    if (!Object.hasOwn(SPACES, record.space.name)) {
      throw new ProtocolError(`This page cannot compute on the space “${record.space.name}”.`);
    }
    this.name = record.space.name;
    this.retraction = record.retraction;
    this.space = new SPACES[this.name](record.space);
    this.dim = this.space.dim;
    this.shape = this.space.shape;
    if (record.retraction !== "exponential" && !(record.retraction === "projection" && this.name === "Hypersphere")) {
      throw new ProtocolError(`The space has no retraction “${record.retraction}”.`);
    }
    const reference = this.checkPoint(record.reference, "The reference point");
    this.frame = { reference, basis: this.#checkBasis(record.basis, reference) };
  }

  /** Return a public point of the space, put there exactly, or refuse it. */
  checkPoint(point, name) {
    if (!hasShape(point, this.shape) || !this.space.isOn(point, ON_MANIFOLD)) {
      throw new ProtocolError(`${name} must be a point of the space.`);
    }
    return this.space.settle(point);
  }

  #checkBasis(basis, reference) {
    const fault = new ProtocolError("The frame must be orthonormal and tangent at the reference point.");
    if (!hasShape(basis, [this.dim, ...this.shape])) throw fault;
    basis.forEach((row, i) => {
      const size = Math.max(...deepFlat(row).map(Math.abs));
      const tangent = deepFlat(this.space.toTangent(row, reference));
      const isTangent = deepFlat(row).every((x, k) => Math.abs(tangent[k] - x) <= 1e-8 * size);
      const gram = this.space.products(row, basis, reference);
      const isUnit = gram.every((x, j) => Math.abs(x - (i === j ? 1 : 0)) <= 1e-5);
      if (!isTangent || !isUnit) throw fault;
    });
    return basis;
  }

  /** Coordinates of a tangent vector at a point in the public frame there. */
  coordinates(vector, point) {
    return this.space.coordinates(vector, point, this.frame);
  }

  /** Distance by which the last digit of its largest entry moves a point, at most. */
  rounding(point) {
    // A tangent vector of length one is no shorter in the ambient space than this.
    const shortest = this.shape.length === 2 ? Math.min(...eigen(point).values) : 1;
    return (Number.EPSILON * Math.max(...deepFlat(point).map(Math.abs))) / shortest;
  }

  /** Distance that the retraction of a vector of the given length covers. */
  retractedDistance(size) {
    return this.space.retractedDistance ? this.space.retractedDistance(size, this.retraction) : size;
  }
}

const isPositive = (x) => typeof x === "number" && x > 0 && x < Infinity;

/** Whether a number may be a size in the units of the data. */
export const isScale = (x) => typeof x === "number" && x >= 1e-40 && x <= 1e40;

/** Whether points lie in the ball, box or band of a record, widened by a distance. */
const REGIONS = {
  geodesic_ball({ radius }, center, geometry) {
    if (!isScale(radius)) throw new ProtocolError("The region must have a radius.");
    return {
      radius: (reach) => radius + reach,
      contains: (point, reach, slack) =>
        geometry.space.distance(point, center) <= (radius + reach) * (1 + EDGE) + slack,
    };
  },

  log_box({ half_widths: halfWidths }, center, geometry) {
    const isBox = geometry.space.isFlat && hasShape(halfWidths, [geometry.dim]) && halfWidths.every(isPositive);
    if (!isBox) throw new ProtocolError("The region must be a box of a flat space.");
    return {
      radius: (reach) => length(halfWidths.map((width) => width + reach)),
      contains: (point, reach, slack) =>
        geometry
          .coordinates(geometry.space.log(point, center), center)
          .every((x, i) => Math.abs(x) <= (halfWidths[i] + reach) * (1 + EDGE) + slack),
    };
  },

  spectral_band({ lower, upper }, center, geometry) {
    const isBand = geometry.name.startsWith("SPD") && isPositive(lower) && lower < upper && isPositive(upper);
    if (!isBand) throw new ProtocolError("The region must be a band of eigenvalues.");
    return {
      radius: (reach) => Math.sqrt(center.length) * (0.5 * Math.log(upper / lower) + reach),
      contains: (point, reach, slack) => {
        const stretch = Math.exp(reach + slack + EDGE);
        return eigen(point).values.every((x) => x >= lower / stretch && x <= upper * stretch);
      },
    };
  },
};

/** The region that holds every query of the plan of a record: a test of points. */
export function queryRegion(record, geometry) {
  const { working_region: spec, radius: rule, rounds } = record;
  if (!Object.hasOwn(REGIONS, spec.name)) throw new ProtocolError(`No region “${spec.name}” is known.`);
  const center = geometry.checkPoint(spec.center, "The centre of the region");
  const region = REGIONS[spec.name](spec, center, geometry);
  const query = rounds?.query ?? null;
  if ((rule === null) === (query === null)) {
    throw new ProtocolError("A protocol must have a radius or rounds with a query, and not both.");
  }
  return rule === null ? onePoint(query, geometry) : around(region, center, spec, rule, geometry);
}

/** Queries around estimates in the working region. */
function around(region, center, spec, rule, geometry) {
  if (!isPositive(rule.maximum)) throw new ProtocolError("The query radius must be positive.");
  if (typeof spec.holds_queries !== "boolean") {
    throw new ProtocolError("The working region must say whether it holds the queries.");
  }
  const reach = spec.holds_queries ? 0 : geometry.retractedDistance(rule.maximum);
  const radius = region.radius(reach);
  if (!(radius < geometry.space.injectivityRadius)) {
    throw new ProtocolError("The queries reach farther than the space goes.");
  }
  const slack = QUERY_EDGE * radius + N_ROUNDINGS * geometry.rounding(center);
  return { contains: (point) => region.contains(point, reach, slack) };
}

/** One public query for everybody. */
function onePoint(query, geometry) {
  const only = geometry.checkPoint(query, "The query of the rounds");
  const slack = N_ROUNDINGS * geometry.rounding(only);
  return { contains: (point) => geometry.space.distance(point, only) <= slack };
}
