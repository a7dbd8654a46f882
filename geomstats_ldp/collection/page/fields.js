// Which numbers a person types, and the datum that they stand for.

import { DatumError } from "./errors.js";
import { onSheet } from "./hyperboloid.js";
import { matrix } from "./matrices.js";
import { dot, length, unit } from "./vectors.js";

const DEGREE = Math.PI / 180;

const numbered = (n, name = "Number") => Array.from({ length: n }, (_, i) => (n === 1 ? name : `${name} ${i + 1}`));

/** Number that was typed; a single comma may be the decimal mark. */
export function readNumber(text, field) {
  const plain = text.trim().replace("−", "-");
  if (plain === "") throw new DatumError("Please enter a number.", field);
  const dotted = /^[^.,]*,[^.,]*$/.test(plain) ? plain.replace(",", ".") : plain;
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(dotted)) {
    throw new DatumError("This does not look like a number. Write it like 1.5 or −0.2.", field);
  }
  const value = Number(dotted);
  if (!Number.isFinite(value)) throw new DatumError("This number is too large to compute with.", field);
  return value;
}

function direction(numbers) {
  if (numbers.every((x) => x === 0)) {
    throw new DatumError("All numbers are zero. A direction needs at least one that is not.", 0);
  }
  return numbers;
}

function fromBall(numbers) {
  const margin = 1 - dot(numbers, numbers);
  if (!(margin > 0)) throw new DatumError("The sum of the squares must be less than one.", 0);
  return onSheet(numbers.map((x) => (2 * x) / margin));
}

function fromHalfSpace(numbers) {
  const flat = numbers.slice(0, -1);
  const height = numbers[numbers.length - 1];
  if (!(height > 0)) throw new DatumError("The last number must be larger than zero.", flat.length);
  const last = (dot(flat, flat) + (height - 1) * (height + 1)) / (2 * height);
  return onSheet([...flat.map((x) => x / height), last]);
}

/** Coordinates of points of the hyperboloid in the Poincaré models, for reading. */
export const toBall = ([time, ...x]) => x.map((entry) => entry / (1 + time));

function toHalfSpace([time, ...x]) {
  const height = 1 / (time - x[x.length - 1]);
  return [...x.slice(0, -1).map((entry) => entry * height), height];
}

/** Rows and columns of the lower triangle, row by row. */
export const triangle = (n) =>
  Array.from({ length: n }, (_, i) => Array.from({ length: i + 1 }, (__, j) => [i, j])).flat();

function fromTriangle(numbers, n) {
  return matrix(n, (i, j) => {
    const [row, column] = i > j ? [i, j] : [j, i];
    return numbers[(row * (row + 1)) / 2 + column];
  });
}

/** Ways to type a direction; only that counts. */
function directionModes(width) {
  const toDirection = (numbers) => unit(direction(numbers));
  const modes = [{ name: "components", title: "Components", labels: numbered(width), toDatum: toDirection }];
  if (width === 2) {
    const toDatum = ([angle]) => [Math.cos(angle * DEGREE), Math.sin(angle * DEGREE)];
    modes.push({ name: "angle", title: "Angle", labels: ["Angle in degrees"], toDatum });
  }
  if (width === 3) {
    const labels = ["Longitude in degrees", "Latitude in degrees"];
    const toDatum = ([longitude, latitude]) => {
      if (Math.abs(latitude) > 90) throw new DatumError("A latitude lies between −90 and 90.", 1);
      const [east, north] = [longitude * DEGREE, latitude * DEGREE];
      return [Math.cos(north) * Math.cos(east), Math.cos(north) * Math.sin(east), Math.sin(north)];
    };
    modes.push({ name: "angles", title: "Longitude and latitude", labels, toDatum });
  }
  return modes.map((mode) => ({ ...mode, isDirection: true }));
}

function hyperbolicModes(dim, coordinates) {
  const modes = [
    { name: "poincare_ball", title: "Poincaré ball", toDatum: fromBall, fromDatum: toBall },
    { name: "half_space", title: "Half-space", toDatum: fromHalfSpace, fromDatum: toHalfSpace },
    { name: "hyperboloid", title: "Hyperboloid", toDatum: onSheet, fromDatum: (point) => point.slice(1) },
  ].map((mode) => ({ ...mode, labels: numbered(dim) }));
  return coordinates ? modes.filter((mode) => mode.name === coordinates) : modes;
}

/** The organiser's names of n numbers, if there are so many. */
const named = (names, n, otherwise) =>
  Array.isArray(names) && names.length === n ? names.map(String) : otherwise;

function matrixMode(n, names) {
  const variables = named(names, n, numbered(n, "Variable"));
  const labels = triangle(n).map(([i, j]) => `${variables[i]} with ${i === j ? "itself" : variables[j]}`);
  const toDatum = (numbers) => fromTriangle(numbers, n);
  return [{ name: "matrix", title: "Matrix", labels, toDatum, variables }];
}

/**
 * Ways to type the datum of a protocol.
 *
 * @param {Protocol} protocol
 * @param {object} form Of the organiser: `labels` of the numbers, or of the rows of a matrix, and the
 *     `coordinates` to begin with.
 * @returns {object[]} Each with name, title, labels, toDatum, and fromDatum if that is not the datum
 *     itself; the first is the one to begin with.
 */
export function inputModes(protocol, form) {
  const { loss, geometry, record } = protocol;
  let modes = [{ name: "numbers", title: "Numbers", labels: numbered(loss.shape[0]), toDatum: (x) => x }];
  if (isDirection(protocol)) modes = directionModes(loss.shape[0]);
  else if (geometry.name === "Hyperboloid") modes = hyperbolicModes(geometry.dim, record.coordinates);
  else if (loss.shape.length === 2) modes = matrixMode(loss.shape[0], form.labels);
  const first = modes.find((mode) => mode.name === (form.coordinates ?? record.coordinates));
  if (first) modes = [first, ...modes.filter((mode) => mode !== first)];
  modes[0].labels = named(form.labels, modes[0].labels.length, modes[0].labels);
  return modes;
}

/** Whether a datum is a direction, and not a vector whose length counts. */
export const isDirection = ({ geometry, record }) => geometry.name === "Hypersphere" && record.loss.name !== "pca";

/** What a datum means: the one that is counted, and whether it was moved to the public bounds. */
export function meaning(protocol, datum) {
  const { loss } = protocol;
  try {
    loss.check(datum);
  } catch {
    const text = loss.shape.length === 2 ? "The matrix is not positive definite: x'Ax must be positive for every x." : "This cannot be used.";
    throw new DatumError(text);
  }
  const counted = loss.clip(datum);
  if (!counted.flat().every(Number.isFinite)) throw new DatumError("This is too far out to be computed with.");
  return { counted, isMoved: isFarther(loss, datum) };
}

function isFarther(loss, datum) {
  if (loss.dataRadius) return loss.distance(datum) > loss.dataRadius;
  return length(datum) > (loss.normBound ?? Infinity);
}
