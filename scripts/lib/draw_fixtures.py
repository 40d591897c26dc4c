"""The pictures of the tests. Each NAME.jpg or NAME.png that is accepted has a NAME.ppm beside it, which is
what it must look like after cleaning, and metadata-words.txt lists what must be found in none of them."""
import io
import os
import random
import struct
import zlib

from PIL import Image, ImageDraw

import draw_colours
import draw_png_suite
import picture_metadata
from picture_metadata import segment


def draw(folder):
    made = Fixtures(folder)
    made.orientations()
    made.colour_kinds()
    made.png_kinds()
    made.with_metadata()
    made.photos()
    made.bombs()
    draw_colours.draw(made)
    draw_png_suite.draw(made)
    made.restarts()
    return made.count


def corners(size):
    """A picture whose four corners tell every turn and mirroring apart."""
    w, h = size
    picture = Image.new("RGB", size, (128, 128, 128))
    pen = ImageDraw.Draw(picture)
    pen.rectangle([0, 0, w * 3 // 8, h * 3 // 8], fill=(220, 40, 40))
    pen.rectangle([w * 5 // 8, 0, w, h * 3 // 8], fill=(40, 190, 60))
    pen.rectangle([0, h * 5 // 8, w * 3 // 8, h], fill=(50, 60, 210))
    pen.rectangle([w * 5 // 8, h * 5 // 8, w, h], fill=(235, 215, 60))
    return picture


def jpeg(picture, **options):
    file = io.BytesIO()
    picture.save(file, "JPEG", **{"quality": 95, "subsampling": 0, **options})
    return file.getvalue()


def png(picture, **options):
    file = io.BytesIO()
    picture.save(file, "PNG", **options)
    return file.getvalue()


def raw_png(size, depth, colour, rows, interlaced=False):
    """A PNG of a kind that Pillow does not write; rows are bytes, or one list of rows for each pass."""
    def chunk(name, content):
        return (struct.pack(">I", len(content)) + name + content
                + struct.pack(">I", zlib.crc32(name + content)))
    data = b"".join(b"\0" + row for row in rows)
    return (b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", *size, depth, colour, 0, 0, int(interlaced)))
            + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def adam7(picture):
    """The rows of an interlaced picture, pass after pass."""
    rows = []
    for x0, y0, dx, dy in [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
                           (0, 1, 1, 2)]:
        for y in range(y0, picture.height, dy):
            row = b"".join(bytes(picture.getpixel((x, y))) for x in range(x0, picture.width, dx))
            if row:
                rows.append(row)
    return rows


class Fixtures:
    def __init__(self, folder):
        self.folder = folder
        self.count = 0

    def write(self, name, content, expected=None):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(content)
        self.count += 1
        if expected is not None:
            expected.convert("RGB").save(os.path.join(self.folder, os.path.splitext(name)[0] + ".ppm"))
            self.count += 1

    def orientations(self):
        """All eight, with sides that are whole blocks (lossless) and that are not; JPEG and PNG."""
        whole, odd = corners((64, 48)), corners((61, 43))
        for number in range(1, 9):
            exif = picture_metadata.exif(number)
            for name, upright, options in [
                ("turn-444", whole, {}), ("turn-422", whole, {"subsampling": 1}),
                ("turn-420", whole, {"subsampling": 2}), ("turn-odd", odd, {"subsampling": 2}),
                ("turn-progressive", whole, {"progressive": True}),
            ]:
                content = jpeg(picture_metadata.stored(upright, number), exif=exif, **options)
                self.write(f"{name}-{number}.jpg", content, upright)
            grey = odd.convert("L")
            self.write(f"turn-grey-{number}.jpg",
                       jpeg(picture_metadata.stored(grey, number), exif=exif), grey)
            self.write(f"turn-png-{number}.png",
                       png(picture_metadata.stored(odd, number), exif=exif.tobytes()[6:]), odd)

    def colour_kinds(self):
        """JPEGs whose colours are not the ordinary kind; Pillow's own reading of them is the judge."""
        picture = corners((64, 48))
        cmyk = jpeg(picture.convert("CMYK"))
        at = cmyk.index(b"Adobe") + 11
        ycck = cmyk[:at] + b"\x02" + cmyk[at + 1:]
        plain = jpeg(picture)
        adobe = segment(0xEE, b"Adobe\0\x64\0\0\0\0\0")
        rgb = plain[:2] + adobe + plain[20:]
        for name, content in [("cmyk", cmyk), ("ycck", ycck), ("rgb-adobe", rgb)]:
            expected = Image.open(io.BytesIO(content)).convert("RGB")
            self.write(name + ".jpg", content, expected)
        self.write("grey.jpg", jpeg(picture.convert("L")), picture.convert("L"))
        self.write("progressive.jpg", jpeg(picture, progressive=True), picture)

    def png_kinds(self):
        picture = corners((61, 43))
        w, h = size = picture.size
        alpha = Image.new("L", size, 255)
        alpha.paste(0, (w // 4, h // 4, w * 3 // 4, h * 3 // 4))
        on_white = Image.composite(picture, Image.new("RGB", size, "white"), alpha)
        clear = picture.copy()
        clear.putalpha(alpha)
        grey = picture.convert("L")
        grey_alpha = Image.merge("LA", (grey, alpha))
        grey_on_white = Image.composite(grey, Image.new("L", size, 255), alpha)
        palette = picture.convert("P", palette=Image.ADAPTIVE, colors=16)
        colours = palette.convert("RGB")
        index = palette.getpixel((1, 1))
        holes = colours.copy()
        holes.putdata([(255, 255, 255) if at == index else pixel
                       for at, pixel in zip(palette.getdata(), colours.getdata())])
        bits = grey.convert("1")
        for name, content, expected in [
            ("kind-rgb", png(picture), picture),
            ("kind-rgba", png(clear), on_white),
            ("kind-grey", png(grey), grey),
            ("kind-grey-alpha", png(grey_alpha), grey_on_white),
            ("kind-palette", png(palette), colours),
            ("kind-palette-transparent", png(palette, transparency=index), holes),
            ("kind-one-bit", png(bits), bits),
        ]:
            self.write(name + ".png", content, expected)
        wide = [b"".join(bytes([v, v]) for v in picture.crop((0, y, w, y + 1)).tobytes()) for y in range(h)]
        self.write("kind-rgb-16.png", raw_png(size, 16, 2, wide), picture)
        wide = [b"".join(bytes([v, v]) for v in grey.crop((0, y, w, y + 1)).tobytes()) for y in range(h)]
        self.write("kind-grey-16.png", raw_png(size, 16, 0, wide), grey)
        self.write("kind-interlaced.png", raw_png(size, 8, 2, adam7(picture), interlaced=True), picture)

    def with_metadata(self):
        from PIL.PngImagePlugin import PngInfo
        picture = corners((64, 48))
        content = jpeg(picture, exif=picture_metadata.exif(1))
        self.write("metadata.jpg", picture_metadata.with_everything(content), picture)
        text = PngInfo()
        text.add_text("Comment", "COMMENT-WORD")
        text.add_text("Author", "TEXT-WORD", zip=True)
        text.add_itxt("XML:com.adobe.xmp", "<x>XMP-WORD</x>")
        content = png(picture, pnginfo=text, exif=picture_metadata.exif(1).tobytes()[6:])
        self.write("metadata.png", content + b"TRAILING-WORD", picture)
        self.write("metadata-words.txt", b"\n".join(picture_metadata.WORDS) + b"\n")

    def photos(self):
        """Detail and noise, so that size matters; the wide one is for scaling by more than eight."""
        for name, size, quality in [("photo", (160, 120), 90), ("wide", (640, 96), 90)]:
            chance = random.Random(name)
            noise = Image.frombytes("RGB", size, chance.randbytes(size[0] * size[1] * 3))
            picture = Image.blend(corners(size), noise, .25)
            self.write(name + ".jpg", jpeg(picture, quality=quality, subsampling=2), picture)
            self.write(name + "-lossless.png", png(picture), picture)

    def bombs(self):
        """Headers that promise far more than the file holds."""
        content = jpeg(corners((64, 48)))
        at = content.index(b"\xff\xc0") + 5
        self.write("bomb.jpg", content[:at] + struct.pack(">HH", 65_500, 65_500) + content[at + 4:])
        self.write("bomb.png", raw_png((100_000, 100_000), 8, 2, [b"\0" * 300]))

    def restarts(self):
        """A grey JPEG of flat blocks with a restart marker after each row of them, which Pillow cannot write."""
        size, across, down = (64, 48), 8, 6
        levels = [[(x * 31 + y * 17) % 41 * 6 for x in range(across)] for y in range(down)]
        # The standard's code words for how many bits a difference has, and 00 for the end of a block.
        lengths = ["00", "010", "011", "100", "101", "110", "1110", "11110", "111110"]
        scan = b""
        for y in range(down):
            bits, before = "", 0
            for x in range(across):
                mean = levels[y][x] - 128  # Quantised by 8, of 8 times the mean.
                step, before = mean - before, mean
                count = abs(step).bit_length()
                bits += lengths[count]
                bits += format(step if step > 0 else step + (1 << count) - 1, f"0{count}b") if count else ""
                bits += "0"
            bits += "1" * (-len(bits) % 8)
            row = bytes(int(bits[at:at + 8], 2) for at in range(0, len(bits), 8)).replace(b"\xff", b"\xff\0")
            scan += row + (bytes([0xFF, 0xD0 + y]) if y < down - 1 else b"")
        plain = jpeg(Image.new("L", size))
        tables = segment(0xDB, b"\0" + b"\x08" * 64)
        frame = segment(0xC0, struct.pack(">BHHB", 8, size[1], size[0], 1) + b"\x01\x11\0")
        codes = segment(0xC4, b"\0" + bytes([0, 1, 5, 1, 1, 1] + [0] * 10) + bytes(range(9)))
        ends = segment(0xC4, b"\x10" + bytes([1] + [0] * 15) + b"\0")
        start = segment(0xDA, b"\x01\x01\0\0\x3f\0")
        content = (plain[:20] + tables + frame + codes + ends + segment(0xDD, struct.pack(">H", across)) + start
                   + scan + b"\xff\xd9")
        expected = Image.new("L", (across, down))
        expected.putdata([level for row in levels for level in row])
        expected = expected.resize(size, Image.NEAREST)
        found = Image.open(io.BytesIO(content)).convert("L")
        assert max(abs(a - b) for a, b in zip(found.getdata(), expected.getdata())) <= 1
        self.write("restarts.jpg", content, expected)
