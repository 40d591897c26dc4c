// libcrypto of OpenSSL: SHA-256 with the processor's own instructions.
#pragma once
#include <openssl/evp.h>
#include <openssl/hmac.h>
