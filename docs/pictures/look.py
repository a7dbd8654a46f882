"""What the pictures of this folder share: a colour that is dark in grey, and small files."""

from pathlib import Path

from PIL import Image

#: Of what is estimated. Its luminance is that of a dark grey.
COLOUR = "#0b5394"

_FOLDER = Path(__file__).parent


def save(figure, name, dpi=160):
    """Write a figure to this folder, with a palette of 128 colours, which is enough for it."""
    path = _FOLDER / name
    figure.savefig(path, dpi=dpi, facecolor="white")
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
