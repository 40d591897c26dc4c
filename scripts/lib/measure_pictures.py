"""Draws a picture of each kind, cleans it, and says in a table what was lost. See scripts/measure-pictures."""
import io
import json
import math
import os
import random
import subprocess
import sys
import tempfile

from PIL import Image, ImageCms, ImageFilter, ImageMath, JpegImagePlugin

import colour_profiles
import draw_photos
import picture_metadata
from difference import ciede2000

ICC = "/usr/share/color/icc/"
LIMIT = 5_242_879
SAMPLES = 30_000

# The standard's table for brightness at quality 50.
BRIGHTNESS = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87,
    80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92,
    95, 98, 112, 100, 103, 99]


def main(program, words):
    print("| picture | what becomes of it | bytes before, after | PSNR, dB | ΔE00 mean, 99.9 % | s | MB |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds():
            if all(word in kind.words for word in words):
                print(kind.row(program, folder), flush=True)
    # A picture that cannot be turned block by block, in the two ways that there are.
    if not words:
        edges(program)


def photo(width, height, seed=1):
    chance = random.Random(seed)
    # The noise of a sensor is softened by its own program.
    return draw_photos.finish(draw_photos.throat(chance, (width, height)), chance).filter(ImageFilter.GaussianBlur(.7))


def jpeg(picture, **options):
    file = io.BytesIO()
    picture.save(file, "JPEG", **{"quality": 92, "subsampling": 2, **options})
    return file.getvalue()


def png(picture, **options):
    file = io.BytesIO()
    picture.save(file, "PNG", **options)
    return file.getvalue()


def profile(name):
    with open(ICC + name, "rb") as file:
        return file.read()


def stored_in(picture, profile, mode="RGB"):
    """The picture's samples in a profile's space."""
    return ImageCms.profileToProfile(
        picture, ImageCms.createProfile("sRGB"), ImageCms.ImageCmsProfile(io.BytesIO(profile)), outputMode=mode,
        renderingIntent=ImageCms.Intent.RELATIVE_COLORIMETRIC, flags=ImageCms.FLAGS["BLACKPOINTCOMPENSATION"])


class Kind:
    def __init__(self, words, content, profile=None, orientation=1, bounds=None):
        self.words, self.content, self.profile = words, content, profile
        self.orientation, self.bounds = orientation, bounds

    def row(self, program, folder):
        content = self.content()
        given, made = os.path.join(folder, "in"), os.path.join(folder, "out")
        with open(given, "wb") as file:
            file.write(content)
        bounds = [str(bound or "-") for bound in self.bounds] if self.bounds else []
        ran = subprocess.run([program, given, made, *bounds], capture_output=True, text=True)
        if ran.returncode:
            return f"| {self.words} | refused: {ran.stderr.strip()[:80]} | {len(content):,} | | | | |"
        report = json.loads(ran.stdout)
        before, after = Image.open(given), Image.open(made)
        psnr, mean, most = self.compared(before, after)
        quality = "endless" if psnr is None else f"{psnr:.1f}"
        return (f"| {self.words} | {became(report, after)} | {len(content):,}, {report['bytes']:,} | {quality} | "
                f"{mean:.2f}, {most:.2f} | {report['seconds']:.2f} | {report['peakMegabytes']} |")

    def compared(self, before, after):
        before = upright(before, self.orientation)
        if before.mode in ("RGBA", "LA"):
            white = Image.new("RGB", before.size, "white")
            white.paste(before.convert("RGB"), mask=before.getchannel("A"))
            before = white
        chance = random.Random(0)
        after = after.convert("RGB")
        if before.size != after.size:
            before = scaled(before.convert("RGB"), after.size)
        places = [(chance.randrange(after.width), chance.randrange(after.height)) for _ in range(SAMPLES)]
        return figures(reference([before.getpixel(place) for place in places], self.profile),
                       [after.getpixel(place) for place in places])


def became(report, after):
    if not report["reencoded"]:
        return "the same pixels" + (", packed anew" if after.info.get("progressive") else "")
    words = []
    if report["converted"]:
        words.append("converted")
    if report["scaled"]:
        words.append(f"scaled to {after.width} x {after.height}")
    words.append(f"quality {quality(after)}")
    return ", ".join(words)


def quality(picture):
    """The quality and the sampling of a JPEG that libjpeg wrote, by its table for brightness."""
    for number in range(1, 101):
        scale = 5000 // number if number < 50 else 200 - number * 2
        table = [min(max((value * scale + 50) // 100, 1), 255) for value in BRIGHTNESS]
        if sorted(picture.quantization[0]) == sorted(table):
            break
    sampling = {0: "4:4:4", 2: "4:2:0"}.get(JpegImagePlugin.get_sampling(picture), "grey")
    return f"{number}, {sampling}"


def upright(picture, orientation):
    if orientation == 1:
        return picture
    return picture.transpose({6: Image.ROTATE_270, 8: Image.ROTATE_90, 3: Image.ROTATE_180}[orientation])


def scaled(picture, size):
    """Averages of the light of areas, in floats."""
    bands = []
    for band in picture.split():
        value = band.convert("F")
        light = ImageMath.eval(
            "(v <= 10.31475) * v / 3294.6 + (v > 10.31475) * ((v / 255.0 + 0.055) / 1.055) ** 2.4", v=value)
        light = light.resize(size, Image.BOX)
        back = ImageMath.eval(
            "(v <= 0.0031308) * v * 3294.6 + (v > 0.0031308) * (1.055 * v ** 0.4166667 - 0.055) * 255.0", v=light)
        bands.append(back)
    return Floats(bands)


class Floats:
    """A picture in floats."""

    mode = "floats"

    def __init__(self, bands):
        self.bands, self.size = bands, bands[0].size

    def getpixel(self, place):
        return tuple(band.getpixel(place) for band in self.bands)


def reference(pixels, profile):
    """The pixels in sRGB, 0 to 255, by transicc in floats."""
    pixels = [pixel if isinstance(pixel, tuple) else (pixel,) for pixel in pixels]
    if profile is None:
        return [pixel if len(pixel) == 3 else pixel * 3 for pixel in pixels]
    # JPEG stores inks turned round, which Pillow has undone; transicc takes them in per cent.
    share = 100 / 255 if len(pixels[0]) == 4 else 1
    lines = "\n".join(" ".join(f"{value * share:.6f}" for value in pixel) for pixel in pixels)
    with tempfile.NamedTemporaryFile(suffix=".icc") as file:
        file.write(profile)
        file.flush()
        ran = subprocess.run(["transicc", "-n", "-t1", "-b", "-c0", "-i" + file.name, "-o*sRGB"],
                             input=lines + "\n", capture_output=True, text=True, check=True)
    found = [tuple(min(max(float(value), 0), 255) for value in line.split()) for line in ran.stdout.splitlines()
             if len(line.split()) == 3]
    assert len(found) == len(pixels), (len(found), len(pixels), ran.stderr[:300])
    return found


def figures(expected, found):
    """PSNR, nil where there is no difference, the mean CIEDE2000, and that which 99.9 % are within."""
    error = sum((a - b) ** 2 for x, y in zip(expected, found) for a, b in zip(x, y)) / (3 * len(expected))
    differences = sorted(ciede2000(lab(x), lab(y)) for x, y in zip(expected, found))
    psnr = 10 * math.log10(255 ** 2 / error) if error else None
    return psnr, sum(differences) / len(differences), differences[len(differences) * 999 // 1000]


def lab(pixel):
    return colour_profiles.lab(colour_profiles.SRGB.d50([value / 255 for value in pixel]))


def kinds():
    usual, large = (1600, 1200), (4032, 3024)
    p3, cmyk = colour_profiles.P3.profile(), profile("ghostscript/default_cmyk.icc")
    adobe, prophoto = profile("colord/AdobeRGB1998.icc"), profile("colord/ProPhotoRGB.icc")
    grey = profile("Gray.icc")
    side = lambda number: {"exif": picture_metadata.exif(number)}

    yield Kind("JPEG, no profile", lambda: jpeg(photo(*usual)))
    yield Kind("JPEG, sRGB profile", lambda: jpeg(photo(*usual), icc_profile=profile("colord/sRGB.icc")))
    for name, found in [("Display P3", p3), ("Adobe RGB", adobe), ("ProPhoto", prophoto)]:
        yield Kind(f"JPEG, {name}", lambda: jpeg(stored_in(photo(*usual), found), icc_profile=found), found)
    yield Kind("JPEG, grey with a profile",
               lambda: jpeg(stored_in(photo(*usual), grey, "L"), icc_profile=grey), grey)
    yield Kind("JPEG, CMYK with a profile",
               lambda: jpeg(stored_in(photo(*usual), cmyk, "CMYK"), icc_profile=cmyk), cmyk)
    yield Kind("PNG, no profile", lambda: png(photo(*usual)))
    yield Kind("PNG, Display P3", lambda: png(stored_in(photo(*usual), p3), icc_profile=p3), p3)
    yield Kind("PNG, Adobe RGB", lambda: png(stored_in(photo(*usual), adobe), icc_profile=adobe), adobe)
    yield Kind("PNG, transparent", lambda: png(clear(photo(*usual))))
    yield Kind("JPEG on its side, whole blocks",
               lambda: jpeg(picture_metadata.stored(photo(*usual), 6), **side(6)), None, 6)
    yield Kind("JPEG on its side, 1601 x 1203",
               lambda: jpeg(picture_metadata.stored(photo(1601, 1203), 6), **side(6)), None, 6)
    yield Kind("JPEG, 12 MP, on its side", lambda: jpeg(picture_metadata.stored(photo(*large), 6), **side(6)),
               None, 6)
    yield Kind("JPEG, 12 MP, a little too large", lambda: too_large(photo(*large)))
    yield Kind("JPEG, 12 MP, much too large", lambda: jpeg(photo(*large), quality=98, subsampling=0))
    yield Kind("JPEG, 48 MP", lambda: jpeg(photo(8064, 6048), quality=80))
    yield Kind("JPEG, 12 MP, `--min-side 224`", lambda: jpeg(photo(*large)), bounds=(None, 224))
    yield Kind("JPEG, 12 MP, `--max-dimension 224`", lambda: jpeg(photo(*large)), bounds=(224, None))


def clear(picture):
    picture.putalpha(Image.linear_gradient("L").resize(picture.size))
    return picture


def too_large(picture):
    """A JPEG that is larger than what may go out, by some rows of blocks."""
    size = len(jpeg(picture, quality=99))
    assert size > LIMIT, size
    height = picture.height * LIMIT // size // 16 * 16
    while True:
        content = jpeg(picture.crop((0, 0, picture.width, height)), quality=99)
        if len(content) > LIMIT:
            return content
        height += 16


def edges(program):
    """Trimming the edge of less than a block, against encoding anew, as a model sees the picture: at 224 pixels."""
    print("\n| picture on its side | trimmed, PSNR at 224 | encoded anew, PSNR at 224 | in full |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for width, height in [(500, 375), (801, 603), (1601, 1203), (3001, 2251)]:
            content = jpeg(picture_metadata.stored(photo(width, height), 6), exif=picture_metadata.exif(6))
            given, made = os.path.join(folder, "in"), os.path.join(folder, "out")
            with open(given, "wb") as file:
                file.write(content)
            subprocess.run([program, given, made], check=True, capture_output=True)
            whole = upright(Image.open(given).convert("RGB"), 6)
            # The turn makes the stored bottom the left edge, which is where the part of a block is.
            part = whole.width % 16
            trimmed = whole.crop((part, 0, whole.width, whole.height))
            again = Image.open(made).convert("RGB")
            seen = [picture.resize((224, 224), Image.BICUBIC) for picture in (whole, trimmed, again)]
            print(f"| {width} x {height} | {psnr(seen[0], seen[1]):.1f} | {psnr(seen[0], seen[2]):.1f} | "
                  f"{psnr(whole, again):.1f} |")


def psnr(left, right):
    error = sum((a - b) ** 2 for a, b in zip(left.tobytes(), right.tobytes())) / len(left.tobytes())
    return 10 * math.log10(255 ** 2 / error) if error else math.inf


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
