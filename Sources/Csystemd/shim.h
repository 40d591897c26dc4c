// libsystemd, of which only the journal is used.
#pragma once
#include <systemd/sd-journal.h>
