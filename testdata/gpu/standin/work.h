/* Shared by work.c, properties.c and graphs.c. */
#ifndef STANDIN_WORK_H
#define STANDIN_WORK_H

#include "runtime.h"

enum { INVALID_VALUE = 1, NOT_SUPPORTED = 801, NOT_CAPTURING = 904 };
enum { CAPTURE_NONE, CAPTURE_ACTIVE };

struct stream {
	int priority;
	unsigned long long capture;	/* 0: none */
};

struct graph {
	int unused;
};

typedef struct event *cudaEvent_t;
typedef struct graph *cudaGraph_t;

/* Waits until all requested work is done. */
__attribute__((visibility("hidden"))) cudaError_t work_drain(void);

#endif
