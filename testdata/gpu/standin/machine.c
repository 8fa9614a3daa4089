#include "machine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "clock.h"
#include "truth.h"

int machine_devices(void)
{
	const char *s = getenv("STANDIN_DEVICES");
	int n = s ? atoi(s) : 2;

	return n < 0 ? 0 : n > TRUTH_DEVICES ? TRUTH_DEVICES : n;
}

int64_t machine_memory(void)
{
	const char *s = getenv("STANDIN_MEMORY");

	return s ? atoll(s) : 8LL << 30;
}

void machine_uuid(int index, uint8_t uuid[16])
{
	/* The first byte differs, so that a prefix of two digits names a device. */
	for (int i = 0; i < 16; i++)
		uuid[i] = (uint8_t)(0xa0 + 0x11 * i + index);
}

void machine_pci(int index, char pci[16])
{
	snprintf(pci, 16, "0000:%02x:00.0", 0x11 + 0x10 * (index & 7));
}

/* "GPU-a0b1…" in the way nvidia-smi prints it. */
static void uuid_text(int index, char text[48])
{
	uint8_t u[16];
	char *p = text + sprintf(text, "GPU-");

	machine_uuid(index, u);
	for (int i = 0; i < 16; i++)
		p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u[i]);
}

/*
 * $STANDIN_FASTEST ("1,0") is the order in which CUDA numbers the devices; CUDA_DEVICE_ORDER=PCI_BUS_ID undoes it.
 * Identity when unset.
 */
static void order(int to[TRUTH_DEVICES])
{
	const char *s = getenv("STANDIN_FASTEST"), *how = getenv("CUDA_DEVICE_ORDER");

	for (int i = 0; i < TRUTH_DEVICES; i++)
		to[i] = i;
	if (!s || (how && !strcmp(how, "PCI_BUS_ID")))
		return;
	for (int i = 0; i < machine_devices() && *s; i++) {
		to[i] = (int)strtol(s, (char **)&s, 10) & (TRUTH_DEVICES - 1);
		s += *s == ',';
	}
}

static int by_uuid(const char *s, size_t n)
{
	char text[48];

	for (int i = 0; n > 4 && i < machine_devices(); i++) {
		uuid_text(i, text);
		if (!strncasecmp(text, s, n))
			return i;
	}
	return -1;
}

/* CUDA C++ Programming Guide, "Environment variables": the list ends at the first entry that names no device. */
static int visible(int to[TRUTH_DEVICES])
{
	const char *s = getenv("CUDA_VISIBLE_DEVICES");
	int all[TRUTH_DEVICES], n = 0;

	order(all);
	if (!s) {
		memcpy(to, all, sizeof all);
		return machine_devices();
	}
	while (*s && n < TRUTH_DEVICES) {
		size_t length = strcspn(s, ",");
		char *end;
		int found;

		if (isdigit((unsigned char)*s)) {
			long k = strtol(s, &end, 10);

			found = end == s + length && k < machine_devices() ? all[k] : -1;
		} else {
			found = by_uuid(s, length);
		}
		for (int i = 0; i < n; i++)	/* one named twice: no device at all */
			if (to[i] == found)
				return 0;
		if (found < 0)
			break;
		to[n++] = found;
		s += length + (s[length] == ',');
	}
	return n;
}

int machine_visible(void)
{
	int to[TRUTH_DEVICES];

	return visible(to);
}

int machine_index(int ordinal)
{
	int to[TRUTH_DEVICES];

	return ordinal < 0 || ordinal >= visible(to) ? -1 : to[ordinal];
}

static long call_ns;

__attribute__((constructor)) static void read_call_ns(void)
{
	call_ns = clock_setting("STANDIN_CALL_NS");
}

void machine_work(void)
{
	if (!call_ns)
		return;
	for (long long end = clock_now() + call_ns; clock_now() < end;)
		;
}
