// libsodium: authenticated encryption, hashes, random bytes, memory for keys.
#pragma once
#include <sodium.h>
