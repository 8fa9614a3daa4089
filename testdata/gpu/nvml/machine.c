// Reads the machine that the stand-in simulates. See README.md for the lines.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

struct machine machine;

static void die(const char *line)
{
	fprintf(stderr, "NVML stand-in: cannot read: %s\n", line);
	abort();
}

// used: a number of bytes, or - for "not available".
static unsigned long long available(const char *text)
{
	return strcmp(text, "-") == 0 ? (unsigned long long)NVML_VALUE_NOT_AVAILABLE : strtoull(text, NULL, 10);
}

static void read_line(const char *line)
{
	struct nvmlDevice_st *last = machine.count ? machine.devices[machine.count - 1] : &machine.global;
	struct nvmlDevice_st *d = NULL;
	struct process p = { 0 };
	struct failure f = { { 0 }, 0 };
	char number[32] = "";
	int gpu = -1, compute = -1, index = 0;

	if (sscanf(line, "driver %79s", machine.driver) == 1 || sscanf(line, "nvml %79s", machine.nvml) == 1 ||
	    sscanf(line, "cuda %d", &machine.cuda) == 1)
		return;
	if (sscanf(line, "fail %63s %d", f.function, &f.code) == 2 && machine.last->failure_count < FAILURES) {
		machine.last->failures[machine.last->failure_count++] = f;
		return;
	}
	if (sscanf(line, "process %u %31s %c %d %d", &p.pid, number, &p.kind, &gpu, &compute) >= 3 && last->processes &&
	    last->process_count < PROCESSES) {
		p.used = available(number);
		p.gpu_instance = (unsigned int)gpu;
		p.compute_instance = (unsigned int)compute;
		last->processes[last->process_count++] = p;
		return;
	}
	d = calloc(1, sizeof(*d));
	if (sscanf(line, "gpu %95s %x:%x:%x %u %llu %llu %llu %llu %d %95[^\n]", d->uuid, &d->domain, &d->bus,
		   &d->device, &d->minor, &d->total, &d->used, &d->free, &d->reserved, &d->mig, d->name) == 11 &&
	    machine.count < DEVICES) {
		d->processes = calloc(PROCESSES, sizeof(struct process));
		machine.last = machine.devices[machine.count++] = d;
		return;
	}
	if (sscanf(line, "instance %d %95s %u %u %llu %llu %llu %llu %95[^\n]", &index, d->uuid, &d->gpu_instance,
		   &d->compute_instance, &d->total, &d->used, &d->free, &d->reserved, d->name) == 9 &&
	    machine.count && index >= 0 && index < INSTANCES) {
		d->parent = last;
		machine.last = last->instances[index] = d;
		return;
	}
	die(line);
}

void read_machine(void)
{
	const char *path = getenv("NVML_STANDIN");
	char line[512];
	FILE *f = path ? fopen(path, "r") : NULL;

	if (!f)
		die("the file that NVML_STANDIN names");
	memset(&machine, 0, sizeof(machine));
	machine.last = &machine.global;
	while (fgets(line, sizeof(line), f))
		if (line[0] != '#' && line[0] != '\n')
			read_line(line);
	fclose(f);
}
