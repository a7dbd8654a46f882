"""Diffusion tensors of a real scan, the one message about one of them, and their private mean.

Usage: python docs/pictures/tensors.py

Draws docs/pictures/tensors.png from a scan that DIPY's package holds; nothing is downloaded. The
shadow of the ellipsoid of a tensor on the plane of the scan is the ellipse of its upper left
2 x 2 block. These blocks are the points in the cone.
"""

import matplotlib.pyplot as plt
import nibabel
import numpy as np
from dipy.core.gradients import gradient_table
from dipy.data import get_fnames
from dipy.io.gradients import read_bvals_bvecs
from dipy.reconst.dti import TensorModel
from geomstats.geometry.spd_matrices import SPDMatrices
from look import COLOUR, draw_messages, save
from matplotlib.colors import to_rgb

from geomstats_ldp import PrivateFrechetMean
from geomstats_ldp.losses import loss_of
from geomstats_ldp.mechanisms import make_streams
from geomstats_ldp.plotting import plot_on_spd_cone

#: Slice of the scan, and the voxel whose message is drawn.
SLICE, VOXEL = 4, (1, 1)

#: Pixels of a glyph, and direction of the light.
N_PIXELS = 100
LIGHT = np.array([-0.4, 0.5, 0.77])

#: A smallest eigenvalue below this, in µm²/ms, is a failed fit.
LEAST = 0.05

N_PEOPLE, EPSILON = 3000, 4.0


def scan_tensors():
    """Tensors of the scan in µm²/ms, shape [10, 10, 10, 3, 3]."""
    scan, bvals, bvecs = (str(path) for path in get_fnames(name="small_64D"))
    bvals, bvecs = read_bvals_bvecs(bvals, bvecs)
    fit = TensorModel(gradient_table(bvals, bvecs=bvecs)).fit(nibabel.load(scan).get_fdata())
    return 1000 * fit.quadratic_form


def anisotropy(tensors):
    """Fractional anisotropy, shape [...]."""
    values = np.linalg.eigvalsh(tensors)
    spread = values - values.mean(axis=-1, keepdims=True)
    return np.sqrt(1.5 * np.sum(spread**2, axis=-1) / np.sum(values**2, axis=-1))


def glyph(tensor, colour, half_width):
    """Picture of the ellipsoid v' D^-1 v = 1, seen from above; shape [N_PIXELS, N_PIXELS, 4].

    A ray through (x, y) meets it where a quadratic in the height is zero; the normal there is
    D^-1 v, and the brightness its angle with the light.
    """
    inverse = np.linalg.inv(tensor)
    ticks = half_width * (np.arange(N_PIXELS) + 0.5 - N_PIXELS / 2) / (N_PIXELS / 2)
    x, y = np.meshgrid(ticks, ticks)
    linear = inverse[0, 2] * x + inverse[1, 2] * y
    flat = inverse[0, 0] * x**2 + 2 * inverse[0, 1] * x * y + inverse[1, 1] * y**2
    root = linear**2 - inverse[2, 2] * (flat - 1)
    height = (-linear + np.sqrt(np.maximum(root, 0))) / inverse[2, 2]
    normal = np.stack([x, y, height], axis=-1) @ inverse
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    brightness = np.maximum(normal @ LIGHT, 0)[..., None]
    shade = (0.3 + 0.7 * brightness) * np.array(to_rgb(colour)) + 0.35 * brightness**12
    # The edge of the disc of light, softened over about a pixel.
    slope = np.hypot(*np.gradient(root)) + 1e-12
    opacity = np.clip(root / slope + 0.5, 0, 1)[..., None]
    return np.concatenate([np.clip(shade, 0, 1), opacity], axis=-1)


def draw_slice(ax, tensors, is_white):
    """The ellipsoids of a slice, those of white matter in colour."""
    size = np.sqrt(np.linalg.eigvalsh(tensors)[..., -1]).max()
    for place in np.ndindex(is_white.shape):
        colour = COLOUR if is_white[place] else "0.75"
        x, y = place
        if np.linalg.eigvalsh(tensors[place])[0] <= LEAST:
            continue
        half = 0.5
        ax.imshow(
            glyph(tensors[place], colour, size),
            extent=(x - half, x + half, y - half, y + half),
            origin="lower",
            zorder=1 + is_white[place],
        )
    ax.set(xlim=(-0.7, 9.7), ylim=(-0.7, 9.7), xticks=[], yticks=[])
    ax.add_patch(plt.Rectangle(np.array(VOXEL) - 0.5, 1, 1, fill=False, ec="k", lw=1.6, zorder=4))
    ax.set_aspect("equal")
    ax.set_title("Tensors of a scan,\none participant's in the frame")


def score_and_messages(estimator, tensor):
    """The score of one tensor at the initial point, and messages, in a plane that holds it.

    Shapes [2] and [400, 2].
    """
    protocol = estimator.protocol_
    geometry, loss, mechanism = protocol.geometry, loss_of(protocol), protocol.mechanism
    query = np.asarray(protocol.initial_point)
    datum = loss.clip(geometry, tensor[None])
    score = geometry.coordinates(loss.score(geometry, query, datum), query)
    messages = mechanism.release(
        np.repeat(score, 400, axis=0), mechanism.draw(400, make_streams(0))
    )
    # Across the page runs the direction of the score.
    axes = np.linalg.qr(np.concatenate([score.T, np.eye(score.shape[1])], axis=1))[0][:, :2]
    axes *= np.sign(score @ axes[:, :1])
    return (score @ axes)[0], messages @ axes


def main():
    """Collect, and draw."""
    tensors = scan_tensors()
    values = np.linalg.eigvalsh(tensors)
    is_white = (anisotropy(tensors) > 0.3) & (values[..., 0] > LEAST) & (values[..., 2] < 3.0)
    blocks = tensors[..., :2, :2]
    rng = np.random.default_rng(4)
    people = blocks[is_white][rng.integers(is_white.sum(), size=N_PEOPLE)]
    mean = PrivateFrechetMean(
        SPDMatrices(2),
        initial_point=0.7 * np.eye(2),
        data_radius=2.0,
        region_radius=1.0,
        epsilon=EPSILON,
        random_state=0,
    ).fit(people)

    figure = plt.figure(figsize=(11, 4.3))
    left = figure.add_axes((0.01, 0.04, 0.33, 0.8))
    draw_slice(left, tensors[:, :, SLICE], is_white[:, :, SLICE])
    middle = figure.add_axes((0.38, 0.26, 0.23, 0.58))
    draw_messages(
        middle,
        *score_and_messages(mean, blocks[(*VOXEL, SLICE)]),
        f"One message in the tangent\nspace, epsilon = {EPSILON:g}",
    )
    right = figure.add_axes((0.65, 0.02, 0.35, 0.86), projection="3d")
    shown = people[:400]
    plot_on_spd_cone(
        mean.confidence_region(0.95),
        ax=right,
        points=shown[np.trace(shown, axis1=1, axis2=2) < 3.0],
        color=COLOUR,
    )
    right.set_axis_off()
    right.set_box_aspect((1, 1, 1), zoom=1.15)
    right.set_title(f"Private mean of {N_PEOPLE:,}, with its\n95% region, in the cone", y=0.98)
    save(figure, "tensors.png")


if __name__ == "__main__":
    main()
