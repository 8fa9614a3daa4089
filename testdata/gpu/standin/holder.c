/*
 * A program that holds device memory: holder BYTES. It prints "ready", and for each line that it reads it allocates
 * and frees as much again and prints "went on"; this shows when its calls wait.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuda.h"

extern CUresult cuInit(unsigned flags);
extern CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
extern CUresult cuCtxSetCurrent(CUcontext context);
extern CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
extern CUresult cuMemFree_v2(CUdeviceptr address);

static void must(CUresult r)
{
	if (!r)
		return;
	fprintf(stderr, "holder: error %d\n", r);
	exit(1);
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	CUdeviceptr held, more;
	CUcontext context;
	int c;

	setvbuf(stdout, NULL, _IOLBF, 0);
	must(cuInit(0));
	must(cuDevicePrimaryCtxRetain(&context, 0));
	must(cuCtxSetCurrent(context));
	must(cuMemAlloc_v2(&held, bytes));
	puts("ready");
	while ((c = getchar()) != EOF) {
		if (c != '\n')
			continue;
		must(cuMemAlloc_v2(&more, bytes));
		must(cuMemFree_v2(more));
		puts("went on");
	}
	return 0;
}
