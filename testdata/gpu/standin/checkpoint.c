/*
 * Suspending a process: cuda-checkpoint calls these with another process's pid, and the memory goes from the devices
 * without any call of the driver API in that process. Other processes are found through $STANDIN_TRUTH.
 */
#include "internal.h"

static CUresult change(int pid, enum truth_state from, enum truth_state to)
{
	struct truth_process *p;
	CUresult r = CUDA_SUCCESS;

	enter_always();
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
	return change(pid, RUNNING, LOCKED);
}

API CUresult cuCheckpointProcessCheckpoint(int pid, void *arguments)
{
	(void)arguments;
	return change(pid, LOCKED, CHECKPOINTED);
}

/* Leaves it locked. */
API CUresult cuCheckpointProcessRestore(int pid, void *arguments)
{
	(void)arguments;
	return change(pid, CHECKPOINTED, LOCKED);
}

API CUresult cuCheckpointProcessUnlock(int pid, void *arguments)
{
	(void)arguments;
	return change(pid, LOCKED, RUNNING);
}

API CUresult cuCheckpointProcessGetState(int pid, int *state)
{
	struct truth_process *p = truth_of(pid);

	if (!p || pid <= 0 || !state)
		return CUDA_ERROR_INVALID_VALUE;
	*state = (int)p->state;
	return CUDA_SUCCESS;
}
