// libxlsxwriter.
#pragma once
#include <xlsxwriter.h>
