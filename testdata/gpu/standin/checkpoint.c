/*
 * Suspending a process: cuda-checkpoint calls these with another process's pid, and the memory leaves the devices
 * without any call of the driver API in that process. Other processes are found through $STANDIN_TRUTH.
 *
 * The caller's $STANDIN_CHECKPOINT names a file with the failures of calls, which is read at each call. CALL is
 * Init, GetState, Lock, …:
 *   fail CALL CODE          it does nothing and returns CODE
 *   leave CALL STATE        it only leaves the process in that state, and returns 999 unless it fails with a code
 *   wait CALL FILE          it makes FILE.begun, and goes on once FILE is there
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static int is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void wait_for(const char *path)
{
	char begun[600];
	FILE *f;

	snprintf(begun, sizeof(begun), "%.511s.begun", path);
	f = fopen(begun, "w");
	if (f)
		fclose(f);
	while (!is_there(path))
		usleep(1000);
}

CUresult checkpoint_script(const char *call, int *left)
{
	const char *path = getenv("STANDIN_CHECKPOINT");
	char line[600], verb[16], name[32], value[512];
	FILE *f = path ? fopen(path, "r") : NULL;
	CUresult r = CUDA_SUCCESS;

	*left = -1;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%15s %31s %511s", verb, name, value) != 3 || strcmp(name, call))
			continue;
		if (!strcmp(verb, "fail"))
			r = atoi(value);
		else if (!strcmp(verb, "leave"))
			*left = atoi(value);
		else if (!strcmp(verb, "wait"))
			wait_for(value);
	}
	if (f)
		fclose(f);
	return *left >= 0 && !r ? CUDA_ERROR_UNKNOWN : r;
}

static CUresult change(int pid, const char *call, enum truth_state from, enum truth_state to)
{
	struct truth_process *p;
	int left;
	CUresult r = checkpoint_script(call, &left);

	enter_always();
	if (r) {
		p = truth_of(pid);
		if (p && left >= 0)
			__atomic_store_n(&p->state, (uint32_t)left, __ATOMIC_RELEASE);
		return leave(r);
	}
	p = truth_of(pid);
	truth_lock();
	if (!p || pid <= 0) {
		r = CUDA_ERROR_INVALID_VALUE;
	} else if (p->state != from) {
		r = CUDA_ERROR_ILLEGAL_STATE;
	} else {
		for (int i = 0; i < TRUTH_DEVICES; i++) {
			struct gauge *driver = &p->device[i].driver;

			if (to == CHECKPOINTED) {
				p->saved[i] = driver->current;
				driver->current = 0;
			} else if (from == CHECKPOINTED) {
				driver->current = p->saved[i];
				p->saved[i] = 0;
				if (driver->current > driver->peak)
					driver->peak = driver->current;
			}
		}
		__atomic_store_n(&p->state, to, __ATOMIC_RELEASE);
	}
	truth_unlock();
	return leave(r);
}

API CUresult cuCheckpointProcessLock(int pid, void *arguments)
{
	(void)arguments;
	return change(pid, "Lock", RUNNING, LOCKED);
}

API CUresult cuCheckpointProcessCheckpoint(int pid, void *arguments)
{
	(void)arguments;
	return change(pid, "Checkpoint", LOCKED, CHECKPOINTED);
}

/* Leaves it locked. */
API CUresult cuCheckpointProcessRestore(int pid, void *arguments)
{
	(void)arguments;
	return change(pid, "Restore", CHECKPOINTED, LOCKED);
}

API CUresult cuCheckpointProcessUnlock(int pid, void *arguments)
{
	(void)arguments;
	return change(pid, "Unlock", LOCKED, RUNNING);
}

API CUresult cuCheckpointProcessGetState(int pid, int *state)
{
	struct truth_process *p = truth_of(pid);
	int left;
	CUresult r = checkpoint_script("GetState", &left);

	if (r)
		return r;
	if (!p || pid <= 0 || !state)
		return CUDA_ERROR_INVALID_VALUE;
	*state = (int)p->state;
	return CUDA_SUCCESS;
}
