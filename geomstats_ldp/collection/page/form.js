// The form in which a person types their numbers, and what it shows about them while they type.

import { byId, element, fill } from "./dom.js";
import { DatumError } from "./errors.js";
import { inputModes, meaning, readNumber, triangle } from "./fields.js";
import { legend, picture } from "./picture.js";
import { length } from "./vectors.js";
import { figure, figures } from "./words.js";

/** What a datum means to a scout, by what they are asked for. */
const SAID_TO_SCOUTS = {
  length: (datum) => `Your numbers have the length ${figure(length(datum))}. The answer is about the range that this lies in, and about nothing else of them.`,
  direction: () => "The answer is about the direction of your numbers. Their length does not count.",
};

/** What a datum means, in words and in the coordinates in which it was typed. */
function said({ datum, counted, isMoved }, { fromDatum, isDirection }, scout) {
  if (scout !== null) return SAID_TO_SCOUTS[scout](datum);
  const values = fromDatum ? fromDatum(counted) : counted;
  const shown = values.length === 1 ? figure(values.flat()[0]) : figures(values);
  if (isMoved) return `This lies beyond the public bound. It is counted as ${shown}.`;
  return isDirection ? `Your direction is ${shown}.` : "This is counted as it is.";
}

/**
 * Form of a protocol; `onDatum(datum, typed, words)` hears of a datum that can be used. `scout` says
 * what somebody is asked for who answers before the study: "length", "direction", or null.
 */
export class Form {
  #protocol;

  #scout;

  #modes;

  #mode;

  constructor(protocol, scout, description, onDatum) {
    this.#protocol = protocol;
    this.#scout = scout;
    this.#modes = inputModes(protocol, description);
    this.#showModes();
    this.#choose(this.#modes[0]);
    byId("form").addEventListener("input", () => this.#preview());
    byId("form").addEventListener("submit", (event) => {
      event.preventDefault();
      const found = this.#read();
      if (found) onDatum(found.datum, this.#typed(), said(found, this.#mode, this.#scout));
    });
  }

  /** Forget what was typed. */
  clear() {
    byId("form").reset();
    fill("fields");
    fill("meaning");
    fill("picture");
    fill("legend");
  }

  #showModes() {
    byId("modes").hidden = this.#modes.length === 1;
    for (const mode of this.#modes) {
      const input = element("input", { type: "radio", name: "mode", value: mode.name, checked: mode === this.#modes[0] });
      input.addEventListener("change", () => this.#choose(mode));
      byId("modes").append(element("label", {}, input, mode.title));
    }
  }

  #choose(mode) {
    this.#mode = mode;
    const { variables } = mode;
    byId("fields").className = variables ? "matrix" : "";
    byId("fields").style.gridTemplateColumns = variables ? `auto repeat(${variables.length}, minmax(0, 1fr))` : "";
    const cells = mode.labels.map((label, i) => this.#cell(label, i));
    fill("fields", variables ? this.#arranged(variables, cells) : cells);
    this.#preview();
  }

  /** Cells of the lower triangle in their places, with what they mirror, and headings. */
  #arranged(variables, cells) {
    const at = (node, row, column) => {
      [node.style.gridRow, node.style.gridColumn] = [row + 2, column + 2];
      return node;
    };
    const hidden = { "aria-hidden": "true" };
    const headings = variables.flatMap((name, i) => [
      at(element("span", { class: "heading", ...hidden }, name), i, -1),
      at(element("span", { class: "heading", ...hidden }, name), -1, i),
    ]);
    const places = triangle(variables.length);
    const mirrors = places
      .filter(([i, j]) => i !== j)
      .map(([i, j]) => at(element("output", { class: "mirror", id: `mirror-${i}-${j}`, ...hidden }), j, i));
    return [...headings, ...cells.map((cell, k) => at(cell, ...places[k])), ...mirrors];
  }

  #cell(label, i) {
    const input = element("input", {
      ...{ type: "text", inputmode: "text", id: `field-${i}`, autocomplete: "off", spellcheck: "false" },
      ...{ "aria-describedby": `error-${i}`, "aria-required": "true" },
    });
    const error = element("p", { class: "error", id: `error-${i}` });
    return element("div", { class: "cell" }, element("label", { for: input.id }, label), input, error);
  }

  /** Labels and texts of what was typed. */
  #typed() {
    return this.#inputs().map((input, i) => `${this.#mode.labels[i]}: ${input.value.trim()}`);
  }

  #inputs() {
    return this.#mode.labels.map((_, i) => byId(`field-${i}`));
  }

  /** Datum and meaning of what was typed; throws DatumError. */
  #understand() {
    const numbers = this.#inputs().map((input, i) => readNumber(input.value, i));
    const datum = this.#mode.toDatum(numbers);
    return { datum, ...meaning(this.#protocol, datum) };
  }

  #preview() {
    for (const [i, j] of triangle(this.#mode.variables?.length ?? 0)) {
      if (i !== j) byId(`mirror-${i}-${j}`).value = byId(`field-${(i * (i + 1)) / 2 + j}`).value;
    }
    this.#clearFaults();
    let found = null;
    try {
      found = this.#understand();
    } catch (error) {
      if (!(error instanceof DatumError)) throw error;
    }
    const drawing = this.#scout === null && found ? picture(this.#protocol, found) : null;
    byId("preview").classList.toggle("pictured", Boolean(drawing));
    fill("picture", drawing ?? []);
    byId("legend").hidden = !(drawing && found.isMoved) || this.#mode.isDirection;
    fill("legend", drawing ? legend(this.#protocol) : []);
    fill("meaning", found ? said(found, this.#mode, this.#scout) : "What your numbers mean is shown here.");
    byId("meaning").className = found ? "" : "small";
  }

  #clearFaults() {
    fill("form-error");
    this.#inputs().forEach((input, i) => {
      input.removeAttribute("aria-invalid");
      fill(`error-${i}`);
    });
  }

  /** What can be used, or null after the first fault of every field was shown. */
  #read() {
    this.#clearFaults();
    const faults = [];
    this.#inputs().forEach((input, i) => {
      try {
        readNumber(input.value, i);
      } catch (error) {
        faults.push(error);
      }
    });
    if (faults.length === 0) {
      try {
        return this.#understand();
      } catch (error) {
        if (!(error instanceof DatumError)) throw error;
        faults.push(error);
      }
    }
    faults.forEach((fault) => this.#show(fault));
    byId(`field-${faults[0].field ?? 0}`).focus();
    return null;
  }

  #show({ field, message }) {
    if (field === null) {
      fill("form-error", message);
      return;
    }
    byId(`field-${field}`).setAttribute("aria-invalid", "true");
    fill(`error-${field}`, message);
  }
}
