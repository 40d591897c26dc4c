// libexif: reads the orientation of a photo.
#pragma once
#include <libexif/exif-data.h>
