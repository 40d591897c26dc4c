// libqrencode.
#pragma once
#include <qrencode.h>
