// What is refused. The texts are for the person in front of the page; none holds a datum.

/** The protocol or a query is not one that a device may answer. */
export class ProtocolError extends Error {}

/** What was typed cannot be used as it is; `field` is the number of the entry, if it is one. */
export class DatumError extends Error {
  constructor(text, field = null) {
    super(text);
    this.field = field;
  }
}
