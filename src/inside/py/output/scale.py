"""Adds a smaller form of images that are too large for models."""

import io
import warnings

from _reckon import render

EDGE_MAX = 1568  # pixels: model providers scale down larger images themselves
BYTES_MAX = 1 << 20
PIXELS_MAX = 50_000_000  # a larger one is not decoded
_BytesIO = io.BytesIO


def _is_large(data):
    """Whether a smaller form is useful; for other formats than PNG, Pillow has to read the size."""
    size = render.size_of_png(data)
    return len(data) > BYTES_MAX or size is None or max(size) > EDGE_MAX


def _shrink(data, pillow):
    image = pillow.open(_BytesIO(data))
    if image.width * image.height > PIXELS_MAX:
        return None
    if max(image.size) <= EDGE_MAX and len(data) <= BYTES_MAX:
        return None
    image.draft("RGB", (EDGE_MAX, EDGE_MAX))  # a JPEG can be decoded at a smaller size
    if image.mode in ("P", "1", "I", "I;16", "F", "LA", "PA", "CMYK"):
        image = image.convert("RGBA" if "transparency" in image.info or image.mode in ("LA", "PA")
                              else "RGB")
    image.thumbnail((EDGE_MAX, EDGE_MAX), reducing_gap=2.0)
    out = _BytesIO()
    image.save(out, "PNG")
    if out.tell() > BYTES_MAX:  # a photograph
        flat = pillow.new("RGB", image.size, "white")
        flat.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
        out = _BytesIO()
        flat.save(out, "JPEG", quality=85)
    return out.getvalue()


def scaled(data):
    """The smaller form of a bundle's first image; None if that is small, or Pillow is missing."""
    for mime in ("image/png", "image/jpeg"):
        image = data.get(mime)
        if not isinstance(image, bytes):
            continue
        if not _is_large(image):
            return None
        try:
            from PIL import Image

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = _shrink(image, Image)
        except Exception:  # no Pillow, or not an image: only the original is sent
            return None
        return made if made is not None and len(made) < len(image) else None
    return None


render.scaled = scaled
