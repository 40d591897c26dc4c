#include <stddef.h>
#include <stdint.h>

// libFuzzer as a library: runs the fuzzer with the program's arguments and calls back for each input.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
