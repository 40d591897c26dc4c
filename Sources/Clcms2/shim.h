// Little CMS: applies colour profiles. It reports errors by return values and never by longjmp.
#pragma once
#include <lcms2.h>

// The pixel formats are macros that call macros there, which Swift does not import.
static const cmsUInt32Number lcms_rgb_8 = TYPE_RGB_8;
static const cmsUInt32Number lcms_rgba_8 = TYPE_RGBA_8;
static const cmsUInt32Number lcms_grey_8 = TYPE_GRAY_8;
// Inks as JPEG stores them: 255 is no ink.
static const cmsUInt32Number lcms_inks_8 = TYPE_CMYK_8_REV;
static const cmsUInt32Number lcms_rgb_double = TYPE_RGB_DBL;
static const cmsUInt32Number lcms_grey_double = TYPE_GRAY_DBL;
static const cmsUInt32Number lcms_lab_double = TYPE_Lab_DBL;
