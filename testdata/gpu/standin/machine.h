/* The machine that is stood in for: how many devices, how large, who they are, which of them this process may see. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many devices there are: $STANDIN_DEVICES, 2 if unset, at most TRUTH_DEVICES. */
int machine_devices(void);
/* Bytes of each: $STANDIN_MEMORY, 8 GiB if unset. */
int64_t machine_memory(void);
void machine_uuid(int index, uint8_t uuid[16]);
void machine_pci(int index, char pci[16]);
/* How many this process sees, and which one its ordinal names (-1: none). */
int machine_visible(void);
int machine_index(int ordinal);
/* Takes as long as $STANDIN_CALL_NS says a call of the driver takes that makes or frees memory: no time if unset. */
void machine_work(void);

#ifdef __cplusplus
}
#endif

#endif
