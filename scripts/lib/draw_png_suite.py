"""PNGs of every kind there is: each colour type with each depth, interlaced and not, with every filter and with tRNS.
Pillow, whose decoder is its own, reads each beside what it was drawn from: one that it sees otherwise is an error."""
import io
import struct
import zlib

from PIL import Image

GREY, RGB, INDEXED, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
SAMPLES = {GREY: 1, RGB: 3, INDEXED: 1, GREY_ALPHA: 2, RGBA: 4}
KINDS = [(GREY, depth) for depth in (1, 2, 4, 8, 16)] + [(RGB, 8), (RGB, 16)] + [
    (INDEXED, depth) for depth in (1, 2, 4, 8)] + [(kind, depth) for kind in (GREY_ALPHA, RGBA) for depth in (8, 16)]
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def draw(made):
    for colour, depth in KINDS:
        for interlaced in (False, True):
            name = f"suite-{colour}-{depth}-{'i' if interlaced else 'n'}"
            Suite(made, colour, depth, interlaced).write(name + "-plain", [0])
            Suite(made, colour, depth, interlaced).write(name + "-filtered", [4, 1, 3, 2, 0])
            if colour in (GREY, RGB, INDEXED):
                Suite(made, colour, depth, interlaced, clear=True).write(name + "-clear", [2, 4, 3])
    # Where an interlaced picture has no more than some of its seven parts.
    for side in range(1, 10):
        for depth in (8, 16):
            Suite(made, RGB, depth, True, size=(side, 10 - side)).write(f"suite-small-{depth}-{side}", [1, 4])


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def paeth(left, above, corner):
    near = [(abs(above - corner), left), (abs(left - corner), above), (abs(left + above - 2 * corner), corner)]
    return min(near, key=lambda pair: pair[0])[1]


class Suite:
    def __init__(self, made, colour, depth, interlaced, clear=False, size=(37, 29)):
        self.made, self.colour, self.depth, self.interlaced, self.clear = made, colour, depth, interlaced, clear
        self.width, self.height = size
        self.most = (1 << depth) - 1
        self.samples = SAMPLES[colour]
        self.palette = [(index * 89 % 256, index * 151 % 256, 255 - index * 53 % 256) for index in range(1 << depth)]
        self.pixels = [[self.pixel(x, y) for x in range(self.width)] for y in range(self.height)]
        # One of the colours that are there is the one that is clear, or every third of the palette more or less so.
        self.key = self.pixels[self.height // 2][self.width // 2]
        self.opacity = [(index * 85) % 256 for index in range(min(1 << depth, 100))]

    def pixel(self, x, y):
        """Slopes, steps and points, so that no filter and no place can be mistaken for another."""
        slopes = [x * self.most // max(self.width - 1, 1), y * self.most // max(self.height - 1, 1),
                  (x * 40503 + y * 25173 + x * y * 977) % (self.most + 1), (x + y) * self.most // 80]
        if self.samples == 1:
            return (slopes[2] if (x // 6 + y // 5) % 2 else slopes[0],)
        return tuple(slopes[:self.samples]) if self.samples != 2 else (slopes[2], slopes[0])

    def packed(self, row):
        """A row of pixels as bytes."""
        if self.depth >= 8:
            return b"".join(sample.to_bytes(self.depth // 8, "big") for pixel in row for sample in pixel)
        bits = "".join(format(sample, f"0{self.depth}b") for pixel in row for sample in pixel)
        return bytes(int(bits[at:at + 8].ljust(8, "0"), 2) for at in range(0, len(bits), 8))

    def data(self, filters):
        step = max(self.samples * self.depth // 8, 1)
        out, number = bytearray(), 0
        for x0, y0, dx, dy in PASSES if self.interlaced else [(0, 0, 1, 1)]:
            rows = [row[x0::dx] for row in self.pixels[y0::dy]]
            above = None
            for row in rows:
                if not row:
                    continue
                row = self.packed(row)
                above = above or bytes(len(row))
                kind = filters[number % len(filters)]
                number += 1
                out.append(kind)
                for at, value in enumerate(row):
                    left = row[at - step] if at >= step else 0
                    corner = above[at - step] if at >= step else 0
                    guess = [0, left, above[at], (left + above[at]) // 2, paeth(left, above[at], corner)][kind]
                    out.append((value - guess) % 256)
                above = row
        return bytes(out)

    def file(self, filters):
        chunks = [chunk(b"IHDR", struct.pack(
            ">IIBBBBB", self.width, self.height, self.depth, self.colour, 0, 0, int(self.interlaced)))]
        if self.colour == INDEXED:
            chunks.append(chunk(b"PLTE", bytes(value for colour in self.palette for value in colour)))
        if self.clear:
            chunks.append(chunk(b"tRNS", bytes(self.opacity) if self.colour == INDEXED
                                else b"".join(struct.pack(">H", sample) for sample in self.key)))
        packed = zlib.compress(self.data(filters))
        # Data in pieces, of which one is empty.
        chunks += [chunk(b"IDAT", packed[:11]), chunk(b"IDAT", b""), chunk(b"IDAT", packed[11:])]
        return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + chunk(b"IEND", b"")

    def seen(self, pixel):
        """Colour and opacity of a pixel, 0 to 255 each."""
        if self.colour == INDEXED:
            opaque = self.opacity[pixel[0]] if self.clear and pixel[0] < len(self.opacity) else 255
            return (*self.palette[pixel[0]], opaque)
        levels = [(sample * 510 + self.most) // (2 * self.most) for sample in pixel]
        opaque = levels.pop() if self.colour in (GREY_ALPHA, RGBA) else 0 if self.clear and pixel == self.key else 255
        return (*(levels * 3)[:3], opaque)

    def write(self, name, filters):
        content = self.file(filters)
        seen = [self.seen(pixel) for row in self.pixels for pixel in row]
        self.judge(name, content, seen)
        picture = Image.new("RGB", (self.width, self.height))
        picture.putdata([tuple((value * opaque + (255 - opaque) * 255 + 127) // 255 for value in colour)
                         for *colour, opaque in seen])
        self.made.write(name + ".png", content, picture)

    def judge(self, name, content, seen):
        """What Pillow sees. It cuts samples of 16 bits off, and compares tRNS with 8 bits right alone."""
        picture = Image.open(io.BytesIO(content))
        picture.load()
        if picture.mode.startswith("I"):
            picture = Image.merge("RGB", [picture.point(lambda value: value / 256).convert("L")] * 3)
        knows_opacity = self.colour in (INDEXED, GREY_ALPHA, RGBA) or self.depth == 8
        found = picture.convert("RGBA").getdata()
        allowed = 1 if self.depth == 16 else 0
        for at, (expected, pixel) in enumerate(zip(seen, found)):
            count = 4 if knows_opacity else 3
            if any(abs(one - other) > allowed for one, other in zip(expected[:count], pixel[:count])):
                raise AssertionError(f"{name}: pixel {at} is {pixel} to Pillow, not {expected}")
