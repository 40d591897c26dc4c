// pango, which shapes and breaks lines of text in any script, with cairo, which writes them as PDF.
#pragma once
#include <cairo-pdf.h>
#include <pango/pangocairo.h>
