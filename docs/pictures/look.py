"""What the pictures of this folder share: a colour dark in grey, messages, and small files."""

from pathlib import Path

import numpy as np
from PIL import Image

#: Of what is estimated. Its luminance is that of a dark grey.
COLOUR = "#0b5394"

_FOLDER = Path(__file__).parent


def draw_messages(ax, score, messages, title):
    """A score in a plane, the message about it, and what that might have been instead.

    Parameters
    ----------
    ax : Axes
    score : array, shape [2]
    messages : array, shape [n, 2]
        The first is the one that was sent.
    title : str
    """
    ax.plot(*messages[1:].T, ".", color="0.6", ms=3, label="what it might have been")
    ax.plot(*messages[0], "o", color="k", ms=6, label="the message")
    draw_arrow(ax, (0, 0), score, COLOUR)
    ax.plot([], [], color=COLOUR, lw=2.5, label="the score, never sent")
    reach = 1.1 * np.abs(messages).max()
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=[0], yticks=[0])
    ax.grid(color="0.85")
    ax.set_aspect("equal")
    put_legend_below(ax)
    ax.set_title(title)


def draw_arrow(ax, start, end, colour, width=2.5):
    """An arrow from one point to another, with room for it in axes that scale themselves."""
    ax.update_datalim([start, end])
    ax.autoscale_view()
    style = {"arrowstyle": "->", "color": colour, "lw": width, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=style)


def put_legend_below(ax):
    """Legend under the axes and the labels of their ticks, without a frame."""
    below = -0.08 if len(ax.get_xticks()) > 0 else -0.04
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, below), frameon=False, fontsize=9)


def save(figure, name, dpi=160):
    """Write a figure to this folder, with a palette of 128 colours, which is enough for it."""
    path = _FOLDER / name
    figure.savefig(path, dpi=dpi, facecolor="white")
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
