// What this device remembers of an invitation: the drawn report until it has arrived, then only that
// it has. The datum is never stored. A lost acknowledgement, or a page that is loaded again, finds the
// report here and sends the same one: a second draw would spend epsilon again.

import { sha256 } from "./sha256.js";

const PREFIX = "geomstats-ldp.answer.";

/** Memory of one invitation. */
export class Store {
  #key;

  constructor(token) {
    this.#key = PREFIX + sha256(token);
  }

  /** Whether the browser keeps anything at all; private windows of some do not. */
  static get isAvailable() {
    try {
      localStorage.setItem(`${PREFIX}test`, "1");
      localStorage.removeItem(`${PREFIX}test`);
      return true;
    } catch {
      return false;
    }
  }

  /** What is remembered: {state: "drawn", body}, {state: "sent"} or null. */
  read() {
    const text = localStorage.getItem(this.#key);
    return text === null ? null : JSON.parse(text);
  }

  /** Keep a report, unless another tab of this device was faster; return the one to send. */
  async keep(makeBody) {
    const keepOne = () => {
      if (this.read() === null) {
        const record = JSON.stringify({ state: "drawn", body: makeBody() });
        localStorage.setItem(this.#key, record);
        if (localStorage.getItem(this.#key) !== record) throw new Error("The answer was not kept.");
      }
      return this.read();
    };
    // Locks are there in secure contexts only.
    return navigator.locks ? navigator.locks.request(this.#key, keepOne) : keepOne();
  }

  /** The report has arrived: forget it, and remember that. */
  markSent() {
    localStorage.setItem(this.#key, JSON.stringify({ state: "sent" }));
  }
}

/** Identifier of a report that tells nothing: 128 random bits. */
export function newReportId() {
  const words = globalThis.crypto.getRandomValues(new Uint32Array(4));
  return Array.from(words, (word) => word.toString(16).padStart(8, "0")).join("");
}
