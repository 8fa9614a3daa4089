// The system calls that NVIDIA's library makes to reach its driver. See README.md.
#ifndef STANDIN_NVML_DRIVER_H
#define STANDIN_NVML_DRIVER_H

#include "machine.h"

#define HIDDEN __attribute__((visibility("hidden")))

// Makes the calls of nvmlInit. Returns false if a call was refused that the library needs, with the code that nvmlInit
// then returns.
HIDDEN int driver_starts(nvmlReturn_t *code);

// Makes the calls of a query of a device; false if one was refused.
HIDDEN int driver_is_asked(unsigned int minor);

// Makes the calls of nvmlShutdown.
HIDDEN void driver_stops(void);

#endif
