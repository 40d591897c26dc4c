"""Photo-like throats and ears: shapes, gradients and noise."""
import io
import os
import random

from PIL import Image, ImageChops, ImageDraw, ImageEnhance, ImageFilter

import picture_metadata

SIZES = [(1280, 960), (960, 1280), (1024, 768), (900, 900), (1200, 800), (1001, 749)]


def draw(folder, count, seed, size):
    for number in range(1, count + 1):
        # Each picture has a generator of its own, so that more pictures do not change the first ones.
        chance = random.Random(f"{seed}/{number}")
        kind = "throat" if number % 2 else "ear"
        picture = finish((throat if kind == "throat" else ear)(chance, chance.choice(SIZES)), chance)
        name = os.path.join(folder, f"{kind}-{number:02}")
        if number % 5 == 2:
            save_png(picture, name + ".png", size)
        else:
            save_jpeg(picture, name + ".jpg", size, chance)
    return count


def throat(chance, size):
    """A mouth seen from the front: lips, cavity, arches, uvula, tonsils and tongue."""
    redness = chance.uniform(0, 1)
    w, h = size
    picture = Image.new("RGB", size, (205, 150, 125))
    pen = ImageDraw.Draw(picture)

    def oval(x, y, rx, ry, colour):
        pen.ellipse([(x - rx) * w, (y - ry) * h, (x + rx) * w, (y + ry) * h], fill=colour)

    flesh = (int(185 + 40 * redness), int(105 - 45 * redness), int(100 - 40 * redness))
    oval(.5, .5, .47, .48, (190, 95, 95))
    oval(.5, .5, .43, .44, flesh)
    oval(.5, .52, .30, .30, (int(120 + 50 * redness), 45, 45))
    oval(.5, .56, .21, .22, (70, 22, 24))
    for side in (-1, 1):
        oval(.5 + side * .26, .54, .08, .13, (flesh[0], flesh[1] - 15, flesh[2] - 10))
        for _ in range(int(redness * 9)):
            spot = chance.uniform(.006, .016)
            oval(.5 + side * chance.uniform(.22, .30), chance.uniform(.46, .62), spot, spot, (240, 232, 205))
    oval(.5, .36, .035, .13, (flesh[0], flesh[1] - 5, flesh[2]))
    oval(.5, .90, .33, .20, (205, int(120 - 20 * redness), 125))
    pen.line([(.5 * w, .74 * h), (.5 * w, .99 * h)], fill=(170, 90, 95), width=max(w // 120, 1))
    return picture


def ear(chance, size):
    """An ear canal with the drum at its end, the handle of the hammer and the cone of light."""
    redness = chance.uniform(0, 1)
    w, h = size
    picture = Image.new("RGB", size, (60, 28, 22))
    pen = ImageDraw.Draw(picture)
    for step in range(40):
        shrink = .48 - step * .004
        pen.ellipse([(.5 - shrink) * w, (.5 - shrink) * h, (.5 + shrink) * w, (.5 + shrink) * h],
                    fill=(90 + step * 3, 48 + step * 2, 38 + step * 2))
    drum = (int(205 + 25 * redness), int(190 - 100 * redness), int(175 - 100 * redness))
    pen.ellipse([.2 * w, .2 * h, .8 * w, .8 * h], fill=drum)
    pen.line([(.45 * w, .24 * h), (.52 * w, .52 * h)], fill=(235, 222, 190), width=w // 45)
    pen.polygon([(.52 * w, .52 * h), (.66 * w, .74 * h), (.57 * w, .77 * h)], fill=(250, 246, 232))
    for _ in range(6 + int(redness * 14)):
        x, y = chance.uniform(.25, .7) * w, chance.uniform(.25, .7) * h
        path = [(x, y)]
        for _ in range(7):
            x, y = x + chance.uniform(-.03, .03) * w, y + chance.uniform(-.03, .03) * h
            path.append((x, y))
        pen.line(path, fill=(195, 60, 55), width=max(w // 320, 1))
    return picture


def finish(picture, chance):
    """Soft edges, a lamp's light from one side, a sensor's noise, one of several brightnesses."""
    w, h = picture.size
    picture = picture.filter(ImageFilter.GaussianBlur(w / 160))
    lamp = Image.radial_gradient("L").resize((int(w * 1.6), int(h * 1.6)))
    x, y = int(w * chance.uniform(.2, .4)), int(h * chance.uniform(.2, .4))
    lamp = ImageChops.invert(lamp).crop((x, y, x + w, y + h)).point(lambda v: 80 + v * 175 // 255)
    picture = ImageChops.multiply(picture, Image.merge("RGB", (lamp, lamp, lamp)))
    for grain, strength in ((1, .05), (6, .05)):
        coarse = (w // grain + 1, h // grain + 1)
        noise = Image.frombytes("RGB", coarse, chance.randbytes(coarse[0] * coarse[1] * 3))
        picture = Image.blend(picture, noise.resize((w, h), Image.BICUBIC), strength)
    return ImageEnhance.Brightness(picture).enhance(chance.uniform(.8, 1.25))


def save_jpeg(picture, name, size, chance):
    """The quality whose file comes nearest to the wanted size from below, else the least one."""
    orientation = chance.choice([1, 1, 2, 3, 4, 5, 6, 7, 8])
    options = {"exif": picture_metadata.exif(orientation, gps=chance.random() < .7)}
    if chance.random() < .3:
        orientation, options = 1, {}
    picture = picture_metadata.stored(picture, orientation)
    low, high = 10, 97
    best = None
    while low <= high:
        quality = (low + high) // 2
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=quality, **options)
        if best is None or len(file.getvalue()) <= size:
            best = file.getvalue()
        if len(file.getvalue()) <= size:
            low = quality + 1
        else:
            high = quality - 1
    write(name, best)


def save_png(picture, name, size):
    """PNG keeps the noise whole, so the picture is made small enough to come near the size."""
    side = (size / 2.2) ** .5 / (picture.width * picture.height) ** .5
    small = (max(int(picture.width * side), 1), max(int(picture.height * side), 1))
    picture.resize(small, Image.LANCZOS).save(name, "PNG")


def draw_bad(folder, chance):
    """Files that must each be refused, by a reason of their own."""
    whole = io.BytesIO()
    finish(throat(chance, (640, 480)), chance).save(whole, "JPEG", quality=85)
    whole = whole.getvalue()
    gif = io.BytesIO()
    Image.new("P", (40, 30), 3).save(gif, "GIF")
    files = {
        "photo.jpg": b"This is a note about a picture, and not the picture.\n",
        "cut-off.jpg": whole[:len(whole) * 2 // 3],
        "animation.gif": gif.getvalue(),
        "phone.heic": (b"\0\0\0\x18ftypheic\0\0\0\0heicmif1" + chance.randbytes(400)),
        "empty.png": b"",
    }
    for name, content in files.items():
        write(os.path.join(folder, name), content)
    return len(files)


def write(name, content):
    with open(name, "wb") as file:
        file.write(content)
