// A small picture of what was typed and of what is counted, where two dimensions show it all.

import { drawn } from "./dom.js";
import { isDirection, toBall } from "./fields.js";
import { eigen } from "./matrices.js";
import { dot } from "./vectors.js";

const SIZE = 100;
const N_POINTS = 72;

const turns = Array.from({ length: N_POINTS }, (_, i) => (2 * Math.PI * i) / N_POINTS);

/** Points of a picture, in a square about a centre; y goes up. */
const placer = ([x0, y0], reach) => ([x, y]) => [
  (SIZE * (1 + (x - x0) / reach)) / 2,
  (SIZE * (1 - (y - y0) / reach)) / 2,
];

const path = (points) => `M${points.map(([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`).join("L")}Z`;

function frame(title, ...children) {
  const shown = drawn("title", {}, title);
  return drawn("svg", { viewBox: `-4 -4 ${SIZE + 8} ${SIZE + 8}`, role: "img" }, shown, ...children);
}

/** Typed and counted point, with the way between them, inside of an edge. */
function points(edge, typed, counted, center, reach, isMoved) {
  const at = placer(center, reach);
  const [from, to] = [at(typed), at(counted)];
  const moved = [
    drawn("line", { class: "way", x1: from[0], y1: from[1], x2: to[0], y2: to[1] }),
    drawn("circle", { class: "typed", cx: from[0], cy: from[1], r: 3.5 }),
  ];
  return frame(
    isMoved ? "A point outside of the public bound, and where it is counted, on the edge" : "A point within the public bound",
    drawn("path", { class: "edge", d: path(edge.map(at)) }),
    drawn("path", { class: "axis", d: `M${SIZE / 2} 0V${SIZE}M0 ${SIZE / 2}H${SIZE}` }),
    ...(isMoved ? moved : []),
    drawn("circle", { class: "counted", cx: to[0], cy: to[1], r: 4 }),
  );
}

const circle = ([x, y], radius) => turns.map((t) => [x + radius * Math.cos(t), y + radius * Math.sin(t)]);

/** A point far outside is drawn at the margin. */
function within(point, center, reach) {
  const gap = point.map((x, i) => x - center[i]);
  const size = Math.hypot(...gap);
  return size <= reach ? point : gap.map((x, i) => center[i] + (x * reach) / size);
}

function plane(center, radius, { datum, counted, isMoved }) {
  const reach = 1.35 * radius;
  return points(circle(center, radius), within(datum, center, reach), counted, center, reach, isMoved);
}

/** Unit circle with the direction. */
function compass({ counted }) {
  const at = placer([0, 0], 1.1);
  const [x, y] = at(counted);
  return frame(
    "The direction on the circle",
    drawn("path", { class: "edge", d: path(circle([0, 0], 1).map(at)) }),
    drawn("line", { class: "shape", x1: SIZE / 2, y1: SIZE / 2, x2: x, y2: y }),
    drawn("circle", { class: "counted", cx: x, cy: y, r: 4.5 }),
  );
}

/** Sides of a view on the globe: to the right, up, and towards the eye. */
const VIEW = (() => {
  const [turn, tilt] = [Math.PI / 6, Math.PI / 7];
  const [c, s, d, t] = [Math.cos(turn), Math.sin(turn), Math.cos(tilt), Math.sin(tilt)];
  return [[-s, c, 0], [-c * t, -s * t, d], [c * d, s * d, t]];
})();

/** Globe with its equator and a meridian; a direction behind it is drawn hollow. */
function globe({ counted }) {
  const at = placer([0, 0], 1.1);
  const seen = (point) => VIEW.map((side) => dot(side, point));
  const line = (points) => {
    const front = points.map(seen).map(([x, y, depth]) => [...at([x, y]), depth]);
    return front.map(([x, y, depth], i) => `${depth < 0 || i === 0 ? "M" : "L"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");
  };
  const closed = [...turns, 0];
  const [x, y, depth] = seen(counted);
  const [px, py] = at([x, y]);
  return frame(
    `The direction on the sphere, ${depth < 0 ? "on the far side" : "on the near side"}`,
    drawn("path", { class: "edge", d: path(circle([0, 0], 1).map(at)) }),
    drawn("path", { class: "grid", d: line(closed.map((t) => [Math.cos(t), Math.sin(t), 0])) }),
    drawn("path", { class: "grid", d: line(closed.map((t) => [Math.cos(t), 0, Math.sin(t)])) }),
    drawn("path", { class: "grid", d: line(closed.map((t) => [0, Math.cos(t), Math.sin(t)])) }),
    drawn("circle", { class: depth < 0 ? "far" : "counted", cx: px, cy: py, r: 4.5 }),
  );
}

/** Poincaré disc with the ball of data. */
function disc({ loss, geometry }, { datum, counted, isMoved }) {
  const { space } = geometry;
  const radius = loss.dataRadius;
  // Any circle of tangent vectors will do, from whatever two vectors; the frame is elsewhere.
  const [e, f] = geometry.frame.basis.map((row) => space.toTangent(row, loss.center));
  const scale = (vector) => radius / Math.sqrt(space.products(vector, [vector], loss.center)[0]);
  const edge = turns.map((t) => {
    const mixed = e.map((entry, i) => Math.cos(t) * entry + Math.sin(t) * f[i]);
    return toBall(space.exp(mixed.map((entry) => scale(mixed) * entry), loss.center));
  });
  const at = placer([0, 0], 1);
  const picture = points(edge, toBall(datum), toBall(counted), [0, 0], 1, isMoved);
  picture.insertBefore(drawn("path", { class: "typed", d: path(circle([0, 0], 1).map(at)) }), picture.children[1]);
  return picture;
}

/** Ellipses x'A^-1 x = 1 of the matrix that was typed and of the one that is counted. */
function ellipses({ datum, counted, isMoved }) {
  const outline = (matrix) => {
    const { values, vectors } = eigen(matrix);
    return turns.map((t) => {
      const [a, b] = [Math.sqrt(values[0]) * Math.cos(t), Math.sqrt(values[1]) * Math.sin(t)];
      return [vectors[0][0] * a + vectors[0][1] * b, vectors[1][0] * a + vectors[1][1] * b];
    });
  };
  const reach = 1.1 * Math.sqrt(Math.max(...eigen(counted).values, ...eigen(datum).values));
  const at = placer([0, 0], reach);
  return frame(
    isMoved ? "Ellipses of the matrix and of what it is counted as" : "Ellipse of the matrix",
    drawn("path", { class: "axis", d: `M${SIZE / 2} 0V${SIZE}M0 ${SIZE / 2}H${SIZE}` }),
    ...(isMoved ? [drawn("path", { class: "way", fill: "none", d: path(outline(datum).map(at)) })] : []),
    drawn("path", { class: "shape", d: path(outline(counted).map(at)) }),
  );
}

/** Picture of a datum and of what is counted, or null where there is none. */
export function picture(protocol, found) {
  const { loss, geometry } = protocol;
  if (geometry.name === "Hyperboloid") return geometry.dim === 2 ? disc(protocol, found) : null;
  if (loss.shape.length === 2) return loss.shape[0] === 2 ? ellipses(found) : null;
  if (isDirection(protocol) && loss.shape[0] === 3) return globe(found);
  if (loss.shape[0] !== 2) return null;
  if (isDirection(protocol)) return compass(found);
  return plane(loss.center ?? [0, 0], loss.dataRadius ?? loss.normBound, found);
}

const sign = (...shapes) => drawn("svg", { viewBox: "0 0 12 12" }, ...shapes);

/** What the signs of a picture mean, for a datum that was moved. */
export function legend(protocol) {
  if (protocol.loss.shape.length === 2 && protocol.geometry.name !== "Hyperboloid") {
    const [typed, counted] = ["way", "shape"].map((kind) => drawn("line", { class: kind, x1: 0, y1: 6, x2: 12, y2: 6 }));
    return [sign(typed), "typed", sign(counted), "counted"];
  }
  const typed = drawn("circle", { class: "typed", cx: 6, cy: 6, r: 4 });
  return [sign(typed), "typed", sign(drawn("circle", { class: "counted", cx: 6, cy: 6, r: 5 })), "counted"];
}
