// Making elements; texts are set as texts, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat());
  return node;
}

/** Element with attributes and children. */
export const element = (tag, attributes = {}, ...children) =>
  filled(document.createElement(tag), attributes, children);

/** The same of a picture. */
export const drawn = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

/** Element of an identifier. */
export const byId = (id) => document.getElementById(id);

/** Put texts and elements in the place of what is inside an element. */
export const fill = (id, ...children) => byId(id).replaceChildren(...children.flat());
