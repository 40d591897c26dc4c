// libsodium: SHA-256, random bytes.
#pragma once
#include <sodium.h>
