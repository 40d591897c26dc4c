"""Colour spaces by their formulas, in floats and without a colour library, and ICC profiles of them."""
import struct

BRADFORD = [[.8951, .2664, -.1614], [-.7502, 1.7135, .0367], [.0389, -.0685, 1.0296]]
D50 = [.9642, 1.0, .8249]
D65_PLACE = (.3127, .3290)
D50_PLACE = (.3457, .3585)


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def product(left, right):
    return [[sum(row[k] * right[k][column] for k in range(3)) for column in range(3)] for row in left]


def inverse(m):
    (a, b, c), (d, e, f), (g, h, i) = m
    size = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return [[(e * i - f * h) / size, (c * h - b * i) / size, (b * f - c * e) / size],
            [(f * g - d * i) / size, (a * i - c * g) / size, (c * d - a * f) / size],
            [(d * h - e * g) / size, (b * g - a * h) / size, (a * e - b * d) / size]]


def light(place):
    x, y = place
    return [x / y, 1.0, (1 - x - y) / y]


def adapted_to_d50(white):
    ours, wanted = times(BRADFORD, white), times(BRADFORD, D50)
    scale = [[wanted[n] / ours[n] if n == m else 0 for m in range(3)] for n in range(3)]
    return product(inverse(BRADFORD), product(scale, BRADFORD))


class Power:
    def __init__(self, exponent):
        self.exponent = exponent

    def decoded(self, value):
        return max(value, 0) ** self.exponent

    def encoded(self, value):
        return max(value, 0) ** (1 / self.exponent)

    def tag(self):
        return b"para" + struct.pack(">IHHi", 0, 0, 0, round(self.exponent * 65536))


class Piecewise:
    """Above d: (a x + b) to the power g; below it: c x."""

    def __init__(self, g, a, b, c, d):
        self.g, self.a, self.b, self.c, self.d = g, a, b, c, d

    def decoded(self, value):
        return (self.a * value + self.b) ** self.g if value >= self.d else self.c * value

    def encoded(self, value):
        if value < self.c * self.d:
            return value / self.c
        return (value ** (1 / self.g) - self.b) / self.a

    def tag(self):
        values = [round(v * 65536) for v in (self.g, self.a, self.b, self.c, self.d)]
        return b"para" + struct.pack(">IHH5i", 0, 3, 0, *values)


class Space:
    """Three primaries, a white and a curve."""

    def __init__(self, name, red, green, blue, white, curve):
        self.name, self.curve = name, curve
        columns = list(zip(light(red), light(green), light(blue)))
        amounts = times(inverse(columns), light(white))
        to_xyz = [[value * amount for value, amount in zip(row, amounts)] for row in columns]
        self.to_d50 = product(adapted_to_d50(light(white)), to_xyz)
        self.from_d50 = inverse(self.to_d50)

    def d50(self, samples):
        return times(self.to_d50, [self.curve.decoded(value) for value in samples])

    def samples(self, d50):
        return [self.curve.encoded(min(max(value, 0), 1)) for value in times(self.from_d50, d50)]

    def profile(self, words="No rights reserved."):
        columns = list(zip(*self.to_d50))
        return icc(b"mntr", b"RGB ", self.name, words, [
            (b"wtpt", xyz(D50)), (b"rXYZ", xyz(columns[0])), (b"gXYZ", xyz(columns[1])),
            (b"bXYZ", xyz(columns[2])), (b"rTRC", self.curve.tag()), (b"gTRC", self.curve.tag()),
            (b"bTRC", self.curve.tag())])


def grey_profile(curve):
    return icc(b"mntr", b"GRAY", "grey", "No rights reserved.", [(b"wtpt", xyz(D50)), (b"kTRC", curve.tag())])


def ink_profile():
    """A plain model of inks: a table of 9 steps an ink, from cyan, magenta, yellow and black to CIELAB."""
    steps, table = 9, []
    inks = [[.10, .42, .72], [.62, .10, .30], [.90, .82, .10], [.03, .03, .03]]
    for node in range(steps ** 4):
        amounts = [node // steps ** (3 - ink) % steps / (steps - 1) for ink in range(4)]
        linear = [1.0, 1.0, 1.0]
        for amount, colour in zip(amounts, inks):
            linear = [value * (1 - amount * (1 - part)) for value, part in zip(linear, colour)]
        table += lab(times(SRGB.to_d50, linear))
    # Lightness and the two colour axes as 16 bits of a version 2 table.
    words = []
    for at in range(0, len(table), 3):
        words += [round(table[at] * 652.8), round((table[at + 1] + 128) * 256), round((table[at + 2] + 128) * 256)]
    straight = struct.pack(">HH", 0, 65535)
    unit = struct.pack(">9i", *[65536 if n % 4 == 0 else 0 for n in range(9)])
    lut = (b"mft2" + struct.pack(">IBBBB", 0, 4, 3, steps, 0) + unit + struct.pack(">HH", 2, 2)
           + straight * 4 + struct.pack(f">{len(words)}H", *words) + straight * 3)
    return icc(b"prtr", b"CMYK", "inks", "No rights reserved.", [(b"wtpt", xyz(D50)), (b"A2B0", lut)],
               version=2, connection=b"Lab ")


def xyz(values):
    return b"XYZ " + struct.pack(">I3i", 0, *[round(value * 65536) for value in values])


def icc(kind, space, name, words, tags, version=4, connection=b"XYZ "):
    text = b"text\0\0\0\0"
    tags = [(b"desc", b"desc" + struct.pack(">II", 0, len(name) + 1) + name.encode() + b"\0" * 79),
            (b"cprt", text + words.encode() + b"\0")] + tags
    directory, content = b"", b""
    start = 128 + 4 + 12 * len(tags)
    for tag, data in tags:
        directory += struct.pack(">4sII", tag, start + len(content), len(data))
        content += data + b"\0" * (-len(data) % 4)
    body = struct.pack(">I", len(tags)) + directory + content
    illuminant = struct.pack(">3i", *[round(value * 65536) for value in D50])
    header = (struct.pack(">I4sI4s4s4s", 128 + len(body), b"\0" * 4, version << 24, kind, space, connection)
              + struct.pack(">6H", 2026, 1, 1, 0, 0, 0) + b"acsp" + b"\0" * 24 + struct.pack(">I", 1) + illuminant)
    return header.ljust(128, b"\0") + body


def lab(d50):
    def root(value):
        return value ** (1 / 3) if value > 216 / 24389 else (24389 / 27 * value + 16) / 116
    x, y, z = [root(value / white) for value, white in zip(d50, D50)]
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


SRGB_CURVE = Piecewise(2.4, 1 / 1.055, .055 / 1.055, 1 / 12.92, .04045)
BT709_CURVE = Piecewise(1 / .45, 1 / 1.09929682680944, .09929682680944 / 1.09929682680944, 1 / 4.5, .081242858298635)
SRGB = Space("sRGB", (.64, .33), (.30, .60), (.15, .06), D65_PLACE, SRGB_CURVE)
P3 = Space("P3", (.680, .320), (.265, .690), (.150, .060), D65_PLACE, SRGB_CURVE)
ADOBE = Space("Adobe", (.64, .33), (.21, .71), (.15, .06), D65_PLACE, Power(563 / 256))
PROPHOTO = Space("ProPhoto", (.7347, .2653), (.1596, .8404), (.0366, .0001), D50_PLACE, Power(1.8))
BT709 = Space("BT.709", (.64, .33), (.30, .60), (.15, .06), D65_PLACE, BT709_CURVE)
BT601 = Space("BT.601", (.630, .340), (.310, .595), (.155, .070), D65_PLACE, BT709_CURVE)
BT2020 = Space("BT.2020", (.708, .292), (.170, .797), (.131, .046), D65_PLACE, BT709_CURVE)
