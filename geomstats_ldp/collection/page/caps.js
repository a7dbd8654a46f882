// Threshold of the cap of lifted PrivUnit, as geomstats_ldp/mechanisms/privunit.py finds it: the
// gamma with m(gamma) = gamma, in logarithms, since gamma or 1 - gamma may be tiny.

/** Sum 2F1(a, b; c; x) for positive a, b, c and 0 <= x <= 1/2; all terms are positive. */
function hypergeometric(a, b, c, x) {
  let [total, term] = [1, 1];
  for (let k = 0; term > 1e-17 * total || (a + k) * (b + k) * x > (c + k) * (1 + k); k += 1) {
    term *= ((a + k) * (b + k) * x) / ((c + k) * (1 + k));
    total += term;
  }
  return total;
}

/** log B(1/2, d/2), by B(1/2, 1/2) = pi, B(1/2, 1) = 2 and the recurrence in steps of two. */
function logBeta(dim) {
  let beta = dim % 2 === 1 ? Math.PI : 2;
  for (let d = dim % 2 === 1 ? 1 : 2; d < dim; d += 2) beta *= d / (d + 1);
  return Math.log(beta);
}

/** log E(t - gamma)_+ for t a coordinate of a uniform point of the sphere of R^(d + 1). */
function logCapExcess(logDepth, dim) {
  const half = 0.5 * dim;
  const x = 0.5 * Math.exp(logDepth);
  const series = hypergeometric(dim + 1, 2, half + 2, x);
  const logConstant = (half - 1) * Math.LN2 - logBeta(dim);
  const logPower = (half + 1) * (logDepth + Math.log1p(-x));
  return logConstant + logPower + Math.log(series / (half * (half + 1)));
}

/** log(1 + e^x), without overflow. */
const softplus = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));

/** The cosine gamma at which the cap of lifted PrivUnit begins. */
export function capThreshold(epsilon, dim) {
  const logGain = epsilon + Math.log(-Math.expm1(-epsilon));
  // log{(e^eps - 1) E(t - gamma)_+ / gamma} falls in logit(gamma), through zero at the threshold.
  const residual = (logit) => logGain + logCapExcess(-softplus(logit), dim) + softplus(-logit);
  let [low, high] = [-60, 750];
  for (;;) {
    const middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    if (residual(middle) > 0) low = middle;
    else high = middle;
  }
  return 1 / (1 + Math.exp(-low));
}
