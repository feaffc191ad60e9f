"""Images that are too large for a model's eye: a smaller one goes beside them."""

import io
import warnings

from _reckon import render

EDGE_MAX = 1568  # pixels: what is larger, models' providers scale down themselves
BYTES_MAX = 1 << 20
PIXELS_MAX = 50_000_000  # a larger one is not decoded
_BytesIO = io.BytesIO


def _is_large(data):
    """Whether a smaller one is worth while; of what is not a PNG, Pillow has to say."""
    size = render.size_of_png(data)
    return len(data) > BYTES_MAX or size is None or max(size) > EDGE_MAX


def _shrink(data, pillow):
    image = pillow.open(_BytesIO(data))
    if image.width * image.height > PIXELS_MAX:
        return None
    if max(image.size) <= EDGE_MAX and len(data) <= BYTES_MAX:
        return None
    image.draft("RGB", (EDGE_MAX, EDGE_MAX))  # a JPEG need not be decoded in full
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
    """The smaller form of a bundle's first image, or None: where it is small, or no Pillow is there."""
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
        except Exception:  # no Pillow, or no image: what there is goes out as it is
            return None
        return made if made is not None and len(made) < len(image) else None
    return None


render.scaled = scaled
