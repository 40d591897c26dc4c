// zlib: inflates the colour profile of a PNG.
#pragma once
#include <zlib.h>
