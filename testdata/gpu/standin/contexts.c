/* Initialisation, the mutex, contexts and which of them is current. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int is_initialised;	/* the pid that called cuInit: CUDA does not work in a forked child */
static struct context *contexts;
static struct context primary[TRUTH_DEVICES];

static __thread struct {
	struct context *at[STACK];
	int depth;
} stack;

void enter_always(void)
{
	pthread_mutex_lock(&mutex);
}

CUresult leave(CUresult result)
{
	pthread_mutex_unlock(&mutex);
	return result;
}

CUresult enter(void)
{
	/* cuCheckpointProcessLock: "any further CUDA API calls will block until the process is unlocked". */
	while (__atomic_load_n(&truth_self()->state, __ATOMIC_ACQUIRE) != RUNNING)
		usleep(200);
	enter_always();
	return is_initialised == getpid() ? CUDA_SUCCESS : leave(CUDA_ERROR_NOT_INITIALIZED);
}

static struct context *top(void)
{
	return stack.depth ? stack.at[stack.depth - 1] : NULL;
}

CUresult enter_context(struct context **context)
{
	CUresult r = enter();

	if (r)
		return r;
	*context = top();
	if (!*context)
		return leave(CUDA_ERROR_INVALID_CONTEXT);
	return (*context)->alive ? CUDA_SUCCESS : leave(CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

int device_of(CUdevice ordinal)
{
	return machine_index(ordinal);
}

CUresult enter_device(CUdevice ordinal, int *index)
{
	CUresult r = enter();

	if (r)
		return r;
	*index = device_of(ordinal);
	return *index < 0 ? leave(CUDA_ERROR_INVALID_DEVICE) : CUDA_SUCCESS;
}

CUdevice ordinal_of(int index)
{
	for (int i = 0; i < machine_visible(); i++)
		if (machine_index(i) == index)
			return i;
	return -1;
}

API CUresult cuInit(unsigned flags)
{
	CUresult r = flags ? CUDA_ERROR_INVALID_VALUE : machine_visible() ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
	int left;

	if (!r)
		r = checkpoint_script("Init", &left);
	enter_always();
	if (!r)
		is_initialised = getpid();
	return leave(r);
}

/* ---- contexts of the program's own --------------------------------------------------------------------------- */

static void empty(struct context *context)
{
	blocks_of_context_free(context);
	arrays_of_context_free(context);
	context->alive = 0;
}

static int is_known(struct context *context)
{
	for (int i = 0; i < TRUTH_DEVICES; i++)
		if (context == &primary[i])
			return 1;
	for (struct context *c = contexts; c; c = c->next)
		if (c == context)
			return 1;
	return 0;
}

static CUresult push(struct context *context)
{
	if (stack.depth == STACK)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack.at[stack.depth++] = context;
	return CUDA_SUCCESS;
}

static CUresult create(CUcontext *out, CUdevice ordinal)
{
	int device = device_of(ordinal);
	struct context *c;
	CUresult r = enter();

	if (r)
		return r;
	if (!out)
		return leave(CUDA_ERROR_INVALID_VALUE);
	if (device < 0)
		return leave(CUDA_ERROR_INVALID_DEVICE);
	/* The handle of a destroyed context is used again: it may name another device than before. */
	for (c = contexts; c && c->alive; c = c->next)
		;
	if (!c) {
		c = malloc(sizeof *c);
		c->next = contexts;
		contexts = c;
	}
	c->device = device;
	c->alive = 1;
	c->primary = c->references = 0;
	*out = c;
	return leave(push(c));
}

API CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
	(void)flags;
	return create(context, device);
}

API CUresult cuCtxCreate_v3(CUcontext *context, void *affinity, int count, unsigned flags, CUdevice device)
{
	(void)affinity, (void)count, (void)flags;
	return create(context, device);
}

API CUresult cuCtxCreate_v4(CUcontext *context, void *parameters, unsigned flags, CUdevice device)
{
	(void)parameters, (void)flags;
	return create(context, device);
}

API CUresult cuCtxDestroy_v2(CUcontext context)
{
	CUresult r = enter();

	if (r)
		return r;
	if (!context || !is_known(context) || context->primary)
		return leave(CUDA_ERROR_INVALID_CONTEXT);
	if (!context->alive)
		return leave(CUDA_ERROR_CONTEXT_IS_DESTROYED);
	empty(context);
	if (top() == context)	/* only the calling thread's; in others it stays current and is an error */
		stack.depth--;
	return leave(CUDA_SUCCESS);
}

API CUresult cuCtxSetCurrent(CUcontext context)
{
	CUresult r = enter();

	if (r)
		return r;
	if (context && (!is_known(context) || !context->alive))
		return leave(CUDA_ERROR_INVALID_CONTEXT);
	if (!context) {
		stack.depth -= stack.depth > 0;
	} else if (stack.depth) {
		stack.at[stack.depth - 1] = context;
	} else {
		push(context);
	}
	return leave(CUDA_SUCCESS);
}

API CUresult cuCtxGetCurrent(CUcontext *context)
{
	CUresult r = enter();

	if (r)
		return r;
	*context = top();
	return leave(CUDA_SUCCESS);
}

API CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	CUresult r = enter();

	if (r)
		return r;
	if (!context || !is_known(context) || !context->alive)
		return leave(CUDA_ERROR_INVALID_CONTEXT);
	return leave(push(context));
}

API CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
	CUresult r = enter();

	if (r)
		return r;
	if (!stack.depth)
		return leave(CUDA_ERROR_INVALID_CONTEXT);
	if (context)
		*context = top();
	stack.depth--;
	return leave(CUDA_SUCCESS);
}

API CUresult cuCtxGetDevice(CUdevice *device)
{
	struct context *c;
	CUresult r = enter_context(&c);

	if (r)
		return r;
	*device = ordinal_of(c->device);
	return leave(CUDA_SUCCESS);
}

/* ---- primary contexts ---------------------------------------------------------------------------------------- */

API CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice ordinal)
{
	int device;
	CUresult r = enter_device(ordinal, &device);

	if (r)
		return r;
	primary[device].device = device;
	primary[device].primary = primary[device].alive = 1;
	primary[device].references++;
	*context = &primary[device];
	return leave(CUDA_SUCCESS);
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice ordinal)
{
	int device;
	CUresult r = enter_device(ordinal, &device);

	if (r)
		return r;
	if (!primary[device].references)
		return leave(CUDA_ERROR_INVALID_CONTEXT);
	if (!--primary[device].references)
		empty(&primary[device]);
	return leave(CUDA_SUCCESS);
}

/* "Explicitly destroys and cleans up all resources"; code that retained it still has its handle and must release it. */
API CUresult cuDevicePrimaryCtxReset_v2(CUdevice ordinal)
{
	int device;
	CUresult r = enter_device(ordinal, &device);

	if (r)
		return r;
	empty(&primary[device]);
	primary[device].alive = primary[device].references > 0;
	return leave(CUDA_SUCCESS);
}

API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned flags)
{
	int device = device_of(ordinal);
	CUresult r = enter();

	(void)flags;
	return r ? r : leave(device < 0 ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS);
}

API CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned *flags, int *active)
{
	int device;
	CUresult r = enter_device(ordinal, &device);

	if (r)
		return r;
	*flags = 0;
	*active = primary[device].alive;
	return leave(CUDA_SUCCESS);
}
