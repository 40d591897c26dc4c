// libcrypto of OpenSSL: SHA-256 with the processor's own instructions, ciphers, and certificates.
#pragma once
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
