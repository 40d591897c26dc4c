"""What phones write beside a picture, and how a picture is stored that is to be shown turned."""
from PIL import Image

import colour_profiles

# What must be done to an upright picture so that the EXIF orientation shows it upright again.
STORED = {
    1: None, 2: Image.FLIP_LEFT_RIGHT, 3: Image.ROTATE_180, 4: Image.FLIP_TOP_BOTTOM, 5: Image.TRANSPOSE,
    6: Image.ROTATE_90, 7: Image.TRANSVERSE, 8: Image.ROTATE_270,
}


def stored(picture, orientation):
    turn = STORED[orientation]
    return picture if turn is None else picture.transpose(turn)


def exif(orientation, gps=True):
    """EXIF with a maker, a serial number and a position, all of them findable words."""
    block = Image.Exif()
    block[0x010F] = "MAKER-WORD"
    block[0x0112] = orientation
    block[0x0132] = "2026:01:02 03:04:05"
    block[0x8769] = {0xA431: "SERIAL-WORD", 0x9003: "2026:01:02 03:04:05"}
    if gps:
        block[0x8825] = {
            1: "S", 2: (1.0, 2.0, 3.0), 3: "W", 4: (4.0, 5.0, 6.0), 18: "DATUM-WORD", 29: "2026:01:02",
        }
    return block


def segment(marker, content):
    return bytes([0xFF, marker]) + (len(content) + 2).to_bytes(2, "big") + content


XMP = (b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF>"
       b"<place>XMP-WORD</place></rdf:RDF></x:xmpmeta>")
IPTC = b"Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\x0e\x1c\x02\x5a\0\x09IPTC-WORD"
ICC = b"ICC_PROFILE\0\x01\x01" + colour_profiles.SRGB.profile("PROFILE-WORD")
WORDS = [b"MAKER-WORD", b"SERIAL-WORD", b"DATUM-WORD", b"XMP-WORD", b"IPTC-WORD", b"PROFILE-WORD",
         b"COMMENT-WORD", b"TRAILING-WORD", b"TEXT-WORD"]


def with_everything(jpeg):
    """A JPEG with each kind of metadata more, and bytes behind its end."""
    extra = (segment(0xE1, XMP) + segment(0xE2, ICC) + segment(0xED, IPTC) + segment(0xEA, b"MAKER-WORD")
             + segment(0xFE, b"COMMENT-WORD"))
    return jpeg[:2] + extra + jpeg[2:] + b"TRAILING-WORD" + b"\0" * 40
