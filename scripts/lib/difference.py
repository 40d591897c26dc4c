"""CIEDE2000, as Sharma, Wu and Dalal write it."""
from math import atan2, cos, degrees, exp, hypot, radians, sin, sqrt


def ciede2000(left, right):
    (l1, a1, b1), (l2, a2, b2) = left, right
    mean = (hypot(a1, b1) + hypot(a2, b2)) / 2
    g = .5 * (1 - sqrt(mean ** 7 / (mean ** 7 + 25 ** 7)))
    a1, a2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = hypot(a1, b1), hypot(a2, b2)
    h1, h2 = degrees(atan2(b1, a1)) % 360, degrees(atan2(b2, a2)) % 360
    turn = 0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    dl, dc, dh = l2 - l1, c2 - c1, 2 * sqrt(c1 * c2) * sin(radians(turn) / 2)
    lightness, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    hue = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    t = (1 - .17 * cos(radians(hue - 30)) + .24 * cos(radians(2 * hue)) + .32 * cos(radians(3 * hue + 6))
         - .20 * cos(radians(4 * hue - 63)))
    sl = 1 + .015 * (lightness - 50) ** 2 / sqrt(20 + (lightness - 50) ** 2)
    sc, sh = 1 + .045 * chroma, 1 + .015 * chroma * t
    rotation = (-sin(radians(60 * exp(-((hue - 275) / 25) ** 2)))
                * 2 * sqrt(chroma ** 7 / (chroma ** 7 + 25 ** 7)))
    return sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rotation * dc / sc * dh / sh)
