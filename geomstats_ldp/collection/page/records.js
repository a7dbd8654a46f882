// Reading what a service sends: JSON that says one thing, with the fields that it must have.

import { ProtocolError } from "./errors.js";

const QUERY_FIELDS = ["fingerprint", "round", "index", "side", "point"];
const SIDES = ["plus", "minus", "base", "round"];

/** Sizes of texts, as geomstats_ldp/serialization.py has them. */
const LONGEST_TEXT = 2 ** 24;
const DEEPEST = 12;

export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Refuse a record without the fields that it must have, or with others. */
export function requireFields(record, names, what, optional = []) {
  const isWhole = isObject(record) && names.every((name) => Object.hasOwn(record, name));
  if (!isWhole || !Object.keys(record).every((name) => [...names, ...optional].includes(name))) {
    throw new ProtocolError(`${what} does not have the fields that it must have.`);
  }
}

/** Number of names in a value, at all depths; refuses what is nested too deeply. */
function countNames(value, depth = 0) {
  if (depth > DEEPEST) throw new ProtocolError("The protocol is nested too deeply.");
  if (Array.isArray(value)) return value.reduce((sum, entry) => sum + countNames(entry, depth + 1), 0);
  if (!isObject(value)) return 0;
  const values = Object.values(value);
  return values.reduce((sum, entry) => sum + countNames(entry, depth + 1), values.length);
}

/** Read a JSON text in which no name is given twice, so that nobody reads two things out of it. */
export function parseStrictly(text, longest = LONGEST_TEXT) {
  if (text.length > longest) throw new ProtocolError("The text is too long.");
  let record;
  try {
    record = JSON.parse(text);
  } catch {
    throw new ProtocolError("The text is not JSON.");
  }
  const names = text.match(/"(?:[^"\\]|\\.)*"\s*(?=:)/g) ?? [];
  if (names.length !== countNames(record)) throw new ProtocolError("A field is given more than once.");
  return record;
}

/** Refuse a question that is not named as one under a fingerprint. */
export function checkName(query, fingerprint) {
  requireFields(query, QUERY_FIELDS, "The question");
  if (query.fingerprint !== fingerprint) {
    throw new ProtocolError("The question belongs to another protocol.");
  }
  const isNamed = [query.round, query.index].every((n) => Number.isSafeInteger(n) && n >= 0);
  if (!isNamed || !SIDES.includes(query.side)) throw new ProtocolError("The question has no name.");
}
