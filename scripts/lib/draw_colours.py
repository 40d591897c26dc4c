"""The same scene in many colour spaces, as the tests' pictures. Beside NAME.jpg or NAME.png stands NAME.ppm, the
conversion to sRGB in floats, by formulas alone, with 16 bits a sample; that of inks is made by lcms2 (ImageCms)."""
import io
import math
import struct
import zlib

from PIL import Image, ImageCms

import colour_profiles
from colour_profiles import ADOBE, BT601, BT709, BT2020, P3, PROPHOTO, SRGB, Power, Space

SIZE = (96, 64)
GREY_CURVE = Power(1.8)
# A space that only gAMA and cHRM describe: 1 / 1.8 as hundred-thousandths, and the places of Adobe RGB.
DESCRIBED = Space("described", (.64, .33), (.21, .71), (.15, .06), colour_profiles.D65_PLACE, Power(1 / .55556))


def draw(made):
    colours = Colours(made)
    colours.with_profiles()
    colours.with_chunks()
    colours.grey_and_inks()
    for name, profile in [("p3", P3.profile()), ("prophoto", PROPHOTO.profile()), ("srgb", SRGB.profile()),
                          ("inks", colour_profiles.ink_profile()),
                          ("grey", colour_profiles.grey_profile(GREY_CURVE))]:
        made.write(f"profile-{name}.icc", profile)


def scene(size=SIZE):
    """Samples of sRGB, 0 to 1: every hue from pale to strong, from dark to light."""
    width, height = size
    for y in range(height):
        for x in range(width):
            hue, lightness = 2 * math.pi * x / width, .04 + .92 * y / (height - 1)
            strength = .5 * (1 - math.cos(6 * math.pi * x / width)) * min(lightness, 1 - lightness)
            yield [lightness + strength * math.cos(hue - shift) for shift in (0, 2.0944, 4.1888)]


def picture(samples, mode="RGB"):
    data = bytes(round(min(max(value, 0), 1) * 255) for pixel in samples for value in pixel)
    return Image.frombytes(mode, SIZE, data)


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def embedded(profile):
    return chunk(b"iCCP", b"a name\0\0" + zlib.compress(profile))


def gamma(value):
    return chunk(b"gAMA", struct.pack(">I", value))


class Colours:
    def __init__(self, made):
        self.made = made
        self.d50 = [SRGB.d50(pixel) for pixel in scene()]

    def reference(self, name, samples):
        """Writes what the samples, of sRGB, must look like."""
        words = [round(min(max(value, 0), 1) * 65535) for pixel in samples for value in pixel]
        header = b"P6\n%d %d\n65535\n" % SIZE
        self.made.write(name + ".ppm", header + struct.pack(f">{len(words)}H", *words))

    def in_srgb(self, stored, space):
        """The stored samples of a space, as samples of sRGB. Equal pixels are converted once."""
        known = {}
        for pixel in zip(*[iter(stored)] * 3):
            if pixel not in known:
                known[pixel] = SRGB.samples(space.d50([value / 255 for value in pixel]))
            yield known[pixel]

    def jpeg(self, name, picture, profile, space):
        content = io.BytesIO()
        picture.save(content, "JPEG", quality=95, subsampling=0, icc_profile=profile)
        self.made.write(name + ".jpg", content.getvalue())
        stored = Image.open(io.BytesIO(content.getvalue())).tobytes()
        self.reference(name, self.in_srgb(stored, space))

    def png(self, name, picture, chunks, space):
        content = io.BytesIO()
        picture.save(content, "PNG")
        plain = content.getvalue()
        self.made.write(name + ".png", plain[:33] + b"".join(chunks) + plain[33:])
        self.reference(name, self.in_srgb(picture.convert("RGB").tobytes(), space))

    def stored(self, space):
        return picture(space.samples(colour) for colour in self.d50)

    def with_profiles(self):
        for name, space in [("p3", P3), ("adobe", ADOBE), ("prophoto", PROPHOTO), ("srgb", SRGB)]:
            stored = self.stored(space)
            self.jpeg(f"colour-{name}-jpeg", stored, space.profile(), space)
            self.png(f"colour-{name}-png", stored, [embedded(space.profile())], space)
        self.jpeg("colour-none-jpeg", self.stored(SRGB), None, SRGB)
        # A profile so long that it needs several segments.
        long = P3.profile("x" * 150_000)
        self.jpeg("colour-long-jpeg", self.stored(P3), long, P3)
        clear = self.stored(P3)
        clear.putalpha(Image.linear_gradient("L").resize(SIZE))
        self.clear(clear)

    def clear(self, picture):
        """Half transparent and with a profile: converted first, then laid on white as the samples are."""
        content = io.BytesIO()
        picture.save(content, "PNG", icc_profile=P3.profile())
        self.made.write("colour-clear-png.png", content.getvalue())
        opaque = [value / 255 for value in picture.getchannel("A").tobytes()]
        samples = self.in_srgb(picture.convert("RGB").tobytes(), P3)
        self.reference("colour-clear-png", (
            [value * part + 1 - part for value in pixel] for pixel, part in zip(samples, opaque)))

    def with_chunks(self):
        p3 = chunk(b"cICP", bytes([12, 13, 0, 1]))
        srgb = chunk(b"sRGB", b"\0")
        places = chunk(b"cHRM", struct.pack(">8I", *[
            round(value * 100_000) for place in [(.3127, .3290), (.64, .33), (.21, .71), (.15, .06)]
            for value in place]))
        wrong = embedded(PROPHOTO.profile())
        for name, space, chunks in [
            ("cicp-p3", P3, [p3]),
            ("cicp-2020", BT2020, [chunk(b"cICP", bytes([9, 14, 0, 1]))]),
            ("cicp-709", BT709, [chunk(b"cICP", bytes([1, 1, 0, 1]))]),
            ("cicp-601", BT601, [chunk(b"cICP", bytes([6, 6, 0, 1]))]),
            ("described", DESCRIBED, [gamma(55556), places]),
            # Of several only the first in the order of the specification counts, whatever theirs in the file.
            ("cicp-first", P3, [gamma(100_000), places, wrong, srgb, p3]),
            ("iccp-second", P3, [gamma(100_000), places, srgb, embedded(P3.profile())]),
            ("srgb-third", SRGB, [gamma(100_000), places, srgb]),
            ("cicp-srgb", SRGB, [wrong, chunk(b"cICP", bytes([1, 13, 0, 1]))]),
        ]:
            self.png(f"colour-{name}-png", self.stored(space), chunks, space)

    def grey_and_inks(self):
        """Grey has no colours to convert: its curve alone is another."""
        profile = colour_profiles.grey_profile(GREY_CURVE)
        light = [colour[1] for colour in self.d50]
        grey = picture(([GREY_CURVE.encoded(min(value, 1))] for value in light), "L")
        space = Space("grey", (.64, .33), (.30, .60), (.15, .06), colour_profiles.D65_PLACE, GREY_CURVE)
        for name in ("jpeg", "png"):
            content = io.BytesIO()
            grey.save(content, name.upper(), quality=95, icc_profile=profile)
            self.made.write(f"colour-grey-{name}.{name.replace('e', '')}", content.getvalue())
            stored = Image.open(io.BytesIO(content.getvalue())).convert("RGB").tobytes()
            self.reference(f"colour-grey-{name}", self.in_srgb(stored, space))

        profile = colour_profiles.ink_profile()
        content = io.BytesIO()
        inks = self.stored(SRGB).convert("CMYK")
        inks.putdata([(c - k, m - k, y - k, k) for c, m, y, _ in inks.getdata() for k in [min(c, m, y) // 2]])
        inks.save(content, "JPEG", quality=95, icc_profile=profile)
        self.made.write("colour-inks-jpeg.jpg", content.getvalue())
        converted = ImageCms.profileToProfile(
            Image.open(io.BytesIO(content.getvalue())), ImageCms.ImageCmsProfile(io.BytesIO(profile)),
            ImageCms.createProfile("sRGB"), renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC, outputMode="RGB",
            flags=ImageCms.FLAGS["BLACKPOINTCOMPENSATION"] | ImageCms.FLAGS["NOTPRECALC"])
        self.reference("colour-inks-jpeg", (
            [value / 255 for value in pixel] for pixel in zip(*[iter(converted.tobytes())] * 3)))
