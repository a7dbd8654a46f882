// Public numbers in plain words.

import { element } from "./dom.js";

/** A number with four digits, as people write it. */
export function figure(x) {
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e-4 && size < 1e6 ? String(Number(x.toPrecision(4))) : x.toExponential(3);
  return text.replace("-", "−");
}

/** Numbers in brackets; matrices row by row. */
export const figures = (values) =>
  `(${values.map((value) => (Array.isArray(value) ? figures(value) : figure(value))).join(", ")})`;

/** A probability in percent; never rounded up to certainty. */
export function percent(p) {
  const digits = Math.min(Math.max(1, Math.ceil(-Math.log10(1 - p)) - 1), 9);
  return `${Number((100 * p).toFixed(digits))}%`;
}

/** Largest probability that somebody can come to who was sure to a degree before. */
export const posterior = (prior, epsilon) => 1 / (1 + ((1 - prior) / prior) * Math.exp(-epsilon));

/** How strong a protection is, as docs/what_is_protected.md puts it. */
export function strength(epsilon) {
  if (epsilon <= 2) return "This is strong protection of a single answer.";
  if (epsilon <= 5) return "This is moderate protection of a single answer.";
  return "This protects against routine inference, but not against somebody who is keen to know.";
}

/** JSON text on several lines; it holds no commas or brackets within texts. */
export function onLines(text) {
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  return text.replace(/":|[{},]/g, (sign) => {
    if (sign === '":') return '": ';
    if (sign === "}") {
      depth -= 1;
      return `${line()}}`;
    }
    if (sign === "{") depth += 1;
    return sign + line();
  });
}

/** A time that is not long, as people say it. */
export const duration = (seconds) => (seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} minutes`);

/** A fingerprint in groups of four, as it is easier to compare. */
export const grouped = (fingerprint) =>
  fingerprint.match(/.{1,4}/g).flatMap((group, i) => [i ? " " : "", element("span", {}, group)]);

const PLANS = {
  von_mises_fisher: (n) => `You are asked for a direction, given by ${n} numbers. Only the direction counts, not the length.`,
  pca: (n, { normBound }) =>
    `You are asked for ${n} numbers. Together they are a vector; one longer than ${figure(normBound)} is counted as if it had just that length.`,
  spd_likelihood: (n, { normBound }) =>
    `You are asked for ${n} numbers. Together they are a vector; one longer than ${figure(normBound)} is counted as if it had just that length.`,
  Euclidean: (n, { dataRadius, center }) =>
    `You are asked for ${n === 1 ? "a number" : `${n} numbers`}. What lies farther than ${figure(dataRadius)} from ${n === 1 ? figure(center[0]) : figures(center)} is counted as if it lay just that far.`,
  Hypersphere: (n, { dataRadius }) =>
    `You are asked for a direction, given by ${n} numbers. What lies farther than an angle of ${figure((dataRadius * 180) / Math.PI)} degrees from a public centre is counted as if it lay just that far.`,
  Hyperboloid: (n, { dataRadius }) =>
    `You are asked for a point of hyperbolic space. What lies farther than ${figure(dataRadius)} from a public centre is counted as if it lay just that far.`,
  SPD: (n, { dataRadius }) =>
    `You are asked for a symmetric positive definite matrix of ${n} rows, such as a covariance. What lies farther than ${figure(dataRadius)} from a public centre is counted as if it lay just that far.`,
};

/** What is asked for, by the loss and the space of a protocol. */
export function request(protocol) {
  const { loss, geometry, record } = protocol;
  const names = [record.loss.name, geometry.name, geometry.name.slice(0, 3)];
  return PLANS[names.find((name) => Object.hasOwn(PLANS, name))](loss.shape[0], loss);
}

/** What is asked for where scouts come first. */
export function scouting({ norms, start, example }) {
  const asked = [
    ...(norms === null ? [] : [`in which of ${norms.mechanism.dim} ranges its length lies`]),
    ...(start === null ? [] : ["where it points to"]),
  ];
  const n = example.loss.shape[0];
  return (
    `You are asked for ${n} numbers, which together are a vector. Those who come first are asked something simple about it: ${asked.join(", or ")}. ` +
    "What the others are asked follows from these answers by a public rule, which this page computes anew."
  );
}

/** What is estimated, in the terms of the field. */
export const AIMS = {
  von_mises_fisher: "mean direction",
  pca: "leading principal component",
  spd_likelihood: "covariance matrix",
  frechet: "mean",
  pseudo_huber: "pseudo-Huber centre",
};
