// What this device remembers of an invitation: the drawn report until it has arrived, then only that
// it has. The datum is never stored. A lost acknowledgement, or a page that is loaded again, finds the
// report here and sends the same one: a second draw would spend epsilon again.
//
// IndexedDB, since its transactions that write wait for each other across tabs, in every context. For
// localStorage browsers promise no moment at which another tab sees what was written.

import { sha256 } from "./sha256.js";

const DATABASE = "geomstats-ldp";
const TABLE = "answers";

const outcome = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

/** Memory of one invitation. */
export class Store {
  #database;

  #key;

  constructor(database, key) {
    this.#database = database;
    this.#key = key;
  }

  /** The memory of this browser, or null where it keeps nothing, as some private windows. */
  static async open(token) {
    try {
      const request = indexedDB.open(DATABASE, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(TABLE);
      const store = new Store(await outcome(request), sha256(token));
      await store.#write(() => {});
      return store;
    } catch {
      return null;
    }
  }

  /** What is remembered: {state: "drawn", body}, {state: "sent"} or null. */
  async read() {
    const table = this.#database.transaction(TABLE).objectStore(TABLE);
    return (await outcome(table.get(this.#key))) ?? null;
  }

  /** Keep a report, unless another tab of this device was faster; return the one to send. */
  async keep(makeBody) {
    let kept = null;
    await this.#write((table) => {
      const request = table.get(this.#key);
      request.onsuccess = () => {
        kept = request.result ?? { state: "drawn", body: makeBody() };
        table.put(kept, this.#key);
      };
    });
    return kept;
  }

  /** The report has arrived: forget it, and remember that. */
  async markSent() {
    await this.#write((table) => table.put({ state: "sent" }, this.#key));
  }

  /** Resolves once what `change` asks of the table is on the disk; all of it or nothing. */
  #write(change) {
    return new Promise((resolve, reject) => {
      const transaction = this.#database.transaction(TABLE, "readwrite", { durability: "strict" });
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error("The answer was not kept."));
      change(transaction.objectStore(TABLE));
    });
  }
}

/** Identifier of a report that tells nothing: 128 random bits. */
export function newReportId() {
  const words = globalThis.crypto.getRandomValues(new Uint32Array(4));
  return Array.from(words, (word) => word.toString(16).padStart(8, "0")).join("");
}
