"""Decodes the pixels of a PNG with eight bits per channel, which is enough for charts."""
import struct
import zlib


def chunks(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        yield kind, png[at + 8:at + 8 + length]
        at += 12 + length


def paeth(left, up, corner):
    near = [(abs(left + up - corner - each), number) for number, each in enumerate((left, up, corner))]
    return (left, up, corner)[min(near)[1]]


def rows(png):
    """Each row: (red, green, blue) of its pixels."""
    parts = list(chunks(png))
    width, height, depth, kind = struct.unpack(">IIBB", dict(parts)[b"IHDR"][:10])
    step = {2: 3, 6: 4}[kind]
    assert depth == 8
    data = zlib.decompress(b"".join(body for name, body in parts if name == b"IDAT"))
    before = bytes(width * step)
    for y in range(height):
        line = data[y * (width * step + 1):(y + 1) * (width * step + 1)]
        now = bytearray(line[1:])
        for x in range(len(now)):
            left = now[x - step] if x >= step else 0
            corner = before[x - step] if x >= step else 0
            now[x] = (now[x] + (0, left, before[x], (left + before[x]) // 2,
                                paeth(left, before[x], corner))[line[0]]) & 255
        before = bytes(now)
        yield [tuple(now[x:x + 3]) for x in range(0, len(now), step)]
