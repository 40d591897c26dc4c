// libpng. Only its simplified API (png_image) may be used: the classic one reports errors by longjmp,
// which must not cross Swift frames.
#pragma once
#include <png.h>
