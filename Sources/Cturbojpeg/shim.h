// libturbojpeg: JPEG headers, lossless turns, decoding and encoding.
#pragma once
#include <turbojpeg.h>
