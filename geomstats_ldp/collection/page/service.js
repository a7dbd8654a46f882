// Talking to the service that the page came from: a few requests, repeated until they are heard.

const FIRST_WAIT = 1;
const LONGEST_WAIT = 60;
const TIMEOUT = 30000;
const QUESTIONS = "/v1/questions";

/** Statuses after which the same request may be made again. */
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504]);

/** The service refuses for good; `status` says why. */
export class Refusal extends Error {
  constructor(status, code) {
    super(`status ${status}`);
    this.status = status;
    this.code = code;
  }
}

/** Wait some seconds, or until the network is back if it is away. */
function pause(seconds) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, 1000 * seconds);
    addEventListener("online", done);
  });
}

const secondsOf = (response) => {
  const text = response.headers.get("Retry-After");
  return /^\d{1,6}$/.test(text ?? "") ? Math.max(1, Number(text)) : null;
};

async function codeOf(response) {
  try {
    return String((await response.json()).error.code);
  } catch {
    return "";
  }
}

/** Requests of one invitation. `onWait(reason, seconds)` hears why and how long a request waits. */
export class Service {
  #token;

  #onWait;

  constructor(token, onWait) {
    this.#token = token;
    this.#onWait = onWait;
  }

  /** Text of the protocol. */
  async protocol() {
    return (await this.#send("/v1/protocol")).text();
  }

  /** Text of what scouts have found, where they were asked first. */
  async scouted() {
    return (await this.#send("/v1/scouted")).text();
  }

  /** Description of what is asked for, which an organiser may give; it is not part of the protocol. */
  async form() {
    return Object(await (await this.#send("/v1/form")).json());
  }

  /** A question for the invitation, to the group that was chosen where there are some. */
  async question(group) {
    const path = group === undefined ? QUESTIONS : `${QUESTIONS}?group=${encodeURIComponent(group)}`;
    return (await this.#send(path, { method: "POST", headers: this.#bearer() })).json();
  }

  /** Deliver a report; the same body again is the same report. */
  async report(body) {
    const headers = { ...this.#bearer(), "Content-Type": "application/json" };
    await this.#send("/v1/reports", { method: "POST", headers, body });
  }

  #bearer() {
    return { Authorization: `Bearer ${this.#token}` };
  }

  async #send(path, options = {}) {
    for (let wait = FIRST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
      let [reason, seconds] = ["offline", wait];
      try {
        const signal = AbortSignal.timeout(TIMEOUT);
        const response = await fetch(path, { ...options, signal, cache: "no-store" });
        if (response.ok) return response;
        const code = await codeOf(response);
        if (!PASSING.has(response.status)) throw new Refusal(response.status, code);
        reason = response.status === 503 && path.startsWith(QUESTIONS) ? "between rounds" : "busy";
        seconds = secondsOf(response) ?? wait;
      } catch (error) {
        if (error instanceof Refusal) throw error;
      }
      this.#onWait(reason, seconds);
      await pause(seconds);
    }
  }
}
