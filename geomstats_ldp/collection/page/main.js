// The page: from the link of an invitation to an answer that has arrived.

import { byId, element, fill } from "./dom.js";
import { ProtocolError } from "./errors.js";
import { Form } from "./form.js";
import { Participant } from "./participant.js";
import { published, ScoutedStudy } from "./scouted.js";
import { Refusal, Service } from "./service.js";
import { newReportId, Store } from "./store.js";
import { AIMS, duration, figure, grouped, onLines, percent, posterior, request, scouting, strength } from "./words.js";

const SECTIONS = ["before", "numbers", "review", "sending", "done", "refused"];
const STEPS = ["before", "numbers", "review"];

/** What this page knows; `datum` is set only between the form and the draw. */
const state = { datum: null };

function show(name) {
  for (const section of SECTIONS) byId(section).hidden = section !== name;
  const place = name === "sending" ? STEPS.length - 1 : STEPS.indexOf(name);
  byId("steps").hidden = place < 0;
  STEPS.forEach((step, i) => {
    const item = byId(`step-${step}`);
    item.className = i < place ? "past" : "";
    if (i === place) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  });
  fill("status");
  document.title = `${byId(`${name}-title`).textContent} – ${byId("title").textContent}`;
  byId(`${name}-title`).focus();
}

const term = (name, ...value) => [element("dt", {}, name), element("dd", {}, ...value)];

function refuse(text, { details = [], note = "" } = {}) {
  state.datum = null;
  fill("refused-text", text);
  fill("refused-details", details);
  fill("refused-note", note);
  show("refused");
}

const REFUSALS = {
  400: "The service does not take this answer.",
  401: "The service does not know this invitation. Please open the link just as you received it.",
  404: "There is no collection at this address any more.",
  409: "This invitation has been used already. Each one is good for one answer.",
  410: "This collection has ended. Thank you for coming.",
};

/** The same for what a status does not say alone. */
const REFUSALS_BY_CODE = {
  other_group: "This invitation has chosen another group on an earlier visit, and cannot change it.",
};

/** Say in kind words why this cannot go on. */
function explain(error) {
  if (error instanceof ProtocolError) {
    const note = "Nothing of yours has been sent. Please tell the organisers what it says here.";
    refuse(error.message, { note });
  } else if (error instanceof Refusal) {
    refuse(REFUSALS_BY_CODE[error.code] ?? REFUSALS[error.status] ?? `The service does not take this (status ${error.status}).`);
  } else {
    refuse("Something went wrong on this page. Please load it again; an answer is never drawn twice.");
  }
}

const WAITS = {
  offline: (time) => `There is no connection to the service. Trying again in ${time}, or when it is back.`,
  busy: (time) => `The service is busy. Trying again in ${time}.`,
  "between rounds": (time) =>
    `All questions of this round are out. This page asks again in ${time} for the next round; you can also close it and come back later.`,
};

const announceWait = (reason, seconds) => fill("status", WAITS[reason](duration(seconds)));

// ---------------------------------------------------------------- before

function showProtocol({ protocol, link, form }) {
  if (form.title) fill("title", String(form.title));
  if (form.introduction) fill("introduction", String(form.introduction));
  const isScouted = protocol instanceof ScoutedStudy;
  const asked = isScouted ? scouting(protocol) : request(protocol);
  const { loss } = (isScouted ? protocol.example : protocol).record;
  fill("request", `${asked} What is estimated is the ${AIMS[loss.name]} of everybody who answers.`);
  showEpsilon(protocol.mechanism.epsilon);
  showGroups(protocol);
  fill("fingerprint", grouped(protocol.fingerprint));
  fill("protocol", JSON.stringify(protocol.record, null, 1));
  if (link.fingerprint) {
    fill("match", "Yes: the service offers the protocol whose fingerprint is in your link. This page has computed it anew.");
  } else {
    fill("match", "Your link does not say. Please compare this fingerprint with the published one:");
    byId("allow").hidden = false;
  }
  byId("match").className = link.fingerprint ? "good" : "note";
}

/** What an answer can tell, at the epsilon of the person or, before they choose, the largest there is. */
function showEpsilon(epsilon) {
  const factor = figure(Math.exp(epsilon));
  fill("epsilon", `Epsilon is ${figure(epsilon)}: your answer can change the odds of anything about your numbers by a factor of at most ${factor}. ${strength(epsilon)}`);
  fill("odds", [0.01, 0.1, 0.5].map((prior) => oddsRow(prior, posterior(prior, epsilon))));
  fill("allowed-label", `I allow this protocol, with an epsilon of ${figure(epsilon)}.`);
}

/** A choice of the group, where people may choose between several epsilons. */
function showGroups({ groups }) {
  byId("groups").hidden = groups.length === 0;
  for (const [place, { name, mechanism }] of groups.entries()) {
    const options = { type: "radio", name: "group", id: `group-${place}`, value: String(place), "aria-describedby": "consent-error" };
    const choice = element("input", options);
    choice.addEventListener("change", () => showEpsilon(mechanism.epsilon));
    const label = element("label", { for: `group-${place}` }, `${name}: epsilon ${figure(mechanism.epsilon)}`);
    byId("groups").append(element("p", { class: "check" }, choice, label));
  }
}

/** The group that is chosen, or undefined. */
const chosenGroup = ({ groups }) => groups[document.querySelector('input[name="group"]:checked')?.value];

function oddsRow(prior, after) {
  const bar = element("span", { class: "bar", "aria-hidden": "true" }, element("span"));
  bar.firstChild.style.width = `${100 * after}%`;
  return element("tr", {}, element("th", { scope: "row" }, `${percent(prior)} sure`), element("td", {}, `${percent(after)} sure`, bar));
}

/** Wait until the person takes part; returns what they allow. */
function consent({ protocol, link }) {
  return nextSubmit("consent", () => {
    const group = chosenGroup(protocol);
    const isChosen = protocol.groups.length === 0 || group !== undefined;
    const isAllowed = Boolean(link.fingerprint) || byId("allowed").checked;
    const missing = isAllowed ? "Please choose one of these first." : "Please tick this first, if you agree.";
    fill("consent-error", isAllowed && isChosen ? [] : missing);
    if (!isAllowed || !isChosen) {
      byId(isAllowed ? "group-0" : "allowed").focus();
      return null;
    }
    const { epsilon } = (group ?? protocol).mechanism;
    return { group: group?.name, ...(link.fingerprint ? { fingerprint: link.fingerprint } : { maxEpsilon: epsilon }) };
  });
}

/** Outcome of the first submission of a form that has one. */
function nextSubmit(id, read) {
  return new Promise((resolve) => {
    byId(id).addEventListener("submit", (event) => {
      event.preventDefault();
      const outcome = read();
      if (outcome) resolve(outcome);
    });
  });
}

// ---------------------------------------------------------------- review and send

function review(question, group, datum, typed, words) {
  state.datum = datum;
  const lines = typed.map((line) => element("span", { class: "line" }, line));
  fill("stays", term("Your numbers", lines), term("What they mean", words));
  fill(
    "leaves",
    term("A random number", "one of 18,446,744,073,709,551,616"),
    term("The question it answers", `round ${question.round + 1}, question ${question.index + 1}`),
    ...(group ? [term("Group that you have chosen", group.name)] : []),
    term("Fingerprint of the protocol", `${question.fingerprint.slice(0, 12)}…`),
  );
  show("review");
}

/** Draw the one answer of this device, and keep it; whoever came first is sent. */
async function draw(store, participant, question) {
  const { datum } = state;
  const body = () => `{"report_id":"${newReportId()}","message":${participant.respond(question, datum)}}`;
  const kept = await store.keep(body);
  state.datum = null;
  fill("stays");
  return kept;
}

async function deliver(store, service, kept) {
  if (kept.state === "sent") {
    finish("You have answered already, on this device. Nothing more is sent.");
    return;
  }
  show("sending");
  fill("status", "Sending…");
  await service.report(kept.body);
  await store.markSent();
  finish("Your answer has arrived. You can close this page.", kept.body);
}

function finish(text, body = null) {
  fill("done-text", text);
  byId("receipt").hidden = body === null;
  fill("sent", body === null ? [] : onLines(body));
  show("done");
}

const clicked = (id) => new Promise((resolve) => byId(id).addEventListener("click", resolve, { once: true }));

// ---------------------------------------------------------------- the whole

function readLink() {
  const entries = new URLSearchParams(location.hash.slice(1));
  return { token: entries.get("token"), fingerprint: entries.get("fingerprint") ?? undefined };
}

async function readProtocol(service, link) {
  fill("status", "Reading the protocol…");
  const [text, form] = await Promise.all([service.protocol(), service.form()]);
  const protocol = published(text);
  if (link.fingerprint && link.fingerprint !== protocol.fingerprint) {
    const note = "Nothing of yours has been sent. Somebody may have changed the protocol; please tell the organisers.";
    const details = [
      ...term("Fingerprint in your link", element("span", {}, grouped(link.fingerprint.slice(0, 128) || "?"))),
      ...term("Fingerprint of what the service offers", element("span", {}, grouped(protocol.fingerprint))),
    ];
    refuse("The service offers another protocol than the one that you were invited to.", { details, note });
    return null;
  }
  return { protocol, link, form };
}

/** A question, who answers it, and in which terms numbers are typed. */
async function ask(service, protocol, allowed) {
  const isScouted = protocol instanceof ScoutedStudy;
  const person = isScouted ? null : new Participant(protocol, allowed);
  if (isScouted) protocol.checkAllowed(allowed);
  byId("consent").querySelector("button").disabled = true;
  fill("status", "Asking for a question…");
  const { query } = await service.question(person?.group?.name);
  if (!isScouted) return { query, participant: person, shown: protocol, scout: null };
  return { query, ...(await protocol.turn(query, () => service.scouted())) };
}

async function takePart(store, service, link) {
  const offer = await readProtocol(service, link);
  if (offer === null) return;
  showProtocol(offer);
  show("before");
  const { query, participant, shown, scout } = await ask(service, offer.protocol, await consent(offer));
  participant.checkQuery(query);
  const form = new Form(shown, scout, offer.form, (...found) => review(query, participant.group, ...found));
  byId("back").addEventListener("click", () => show("numbers"));
  show("numbers");
  await clicked("send");
  byId("send").disabled = true;
  const kept = await draw(store, participant, query);
  form.clear();
  await deliver(store, service, kept);
}

async function main() {
  const link = readLink();
  if (!/^[\x21-\x7e]+$/.test(link.token ?? "")) {
    refuse("This page needs the link of your invitation. Please open it just as you received it.");
    return;
  }
  const store = await Store.open(link.token);
  if (store === null) {
    refuse("Your browser does not let this page remember anything. An answer has to be kept until it has arrived; please allow it, or use another browser.");
    return;
  }
  const service = new Service(link.token, announceWait);
  try {
    const kept = await store.read();
    await (kept === null ? takePart(store, service, link) : deliver(store, service, kept));
  } catch (error) {
    explain(error);
  }
}

addEventListener("hashchange", () => location.reload());
main();
