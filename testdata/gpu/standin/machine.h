/* The simulated machine: the number, sizes and names of its devices, and those that this process may see. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of devices: $STANDIN_DEVICES, 2 if unset, at most TRUTH_DEVICES. */
int machine_devices(void);
/* Bytes of each: $STANDIN_MEMORY, 8 GiB if unset. */
int64_t machine_memory(void);
void machine_uuid(int index, uint8_t uuid[16]);
void machine_pci(int index, char pci[16]);
/* The number of devices that this process sees, and the device of an ordinal (-1: none). */
int machine_visible(void);
int machine_index(int ordinal);
/* Waits for the time of a driver call that allocates or frees memory, $STANDIN_CALL_NS: no time if unset. */
void machine_work(void);

#ifdef __cplusplus
}
#endif

#endif
