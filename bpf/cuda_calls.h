/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Calls of the CUDA driver, from their entry to their return, and those of the runtime around them. */
#ifndef IPYTRACER_CUDA_CALLS_H
#define IPYTRACER_CUDA_CALLS_H

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static __always_inline __u32 kind_freed(__u32 operation)
{
	return operation == CUDA_HOST_FREE ? CUDA_HOST : operation == CUDA_ARRAY_DESTROY ? CUDA_IS_ARRAY : CUDA_POINTER;
}

static __always_inline bool frees(__u32 operation)
{
	return operation == CUDA_FREE || operation == CUDA_HOST_FREE || operation == CUDA_ARRAY_DESTROY;
}

static __always_inline bool makes(__u32 operation)
{
	return (operation >= CUDA_ALLOC && operation <= CUDA_ALLOC_ASYNC) || operation == CUDA_HOST_ALLOC ||
	       operation == CUDA_HOST_REGISTER || operation == CUDA_CREATE ||
	       (operation >= CUDA_ARRAY && operation <= CUDA_MIPMAP);
}

/* Reports whether PyTorch's allocators allocate by an operation. */
static __always_inline bool may_be_torch(__u32 operation)
{
	return operation == CUDA_ALLOC || operation == CUDA_CREATE || is_pooled(operation);
}

/* Returns the record of the thread's call. It is kept for the thread's next call: sp is 0 while none is under way. */
static __always_inline struct call *call_of(__u32 tid, __u32 slot)
{
	struct call *c = bpf_map_lookup_elem(&calls, &tid);
	if (c)
		return c;
	static const struct call none;
	bpf_map_update_elem(&calls, &tid, &none, BPF_NOEXIST);
	c = bpf_map_lookup_elem(&calls, &tid);
	if (!c)
		unkept(slot, MISSING_UNKNOWN);
	return c;
}

static __always_inline __u64 argument(struct call *c, __u32 number)
{
	return number == 2 ? c->argument[2] : number == 3 ? c->argument[3] : c->argument[4];
}

SEC("uprobe")
int cuda_enter(struct pt_regs *regs)
{
	__u32 slot = current_slot(), tid = (__u32)bpf_get_current_pid_tgid();
	__u64 cookie = bpf_get_attach_cookie(regs);

	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);

	if (!p || !spend(regs, GROUP_DRIVER, slot, 0))
		return 0;
	p->cuda = 1;
	struct call *c = call_of(tid, slot);
	if (!c || (c->sp && PT_REGS_SP(regs) < c->sp))
		return 0;
	c->sp = PT_REGS_SP(regs);
	c->argument[0] = PT_REGS_PARM1(regs);
	c->argument[1] = PT_REGS_PARM2(regs);
	c->argument[2] = PT_REGS_PARM3(regs);
	c->argument[3] = PT_REGS_PARM4(regs);
	c->argument[4] = PT_REGS_PARM5(regs);
	c->operation = cookie & 0xff;
	c->narrow = cookie >> 16 & 1;
	c->known = c->operation == CUDA_ALLOC && (cookie >> 8 & 0xff);
	c->stack = makes(c->operation) ? stack_here(regs, slot) : 0;
	c->torch = may_be_torch(c->operation) && called_by_torch(regs);
	if (c->narrow && c->operation == CUDA_FREE)
		c->argument[0] = (__u32)c->argument[0];
	if (c->operation == CUDA_CTX_CREATE)
		c->device = argument(c, cookie >> 8 & 0xff);
	if (frees(c->operation))
		block_taken(c, slot, kind_freed(c->operation), c->argument[0]);
	return 0;
}

/* Returns a number that a function takes or returns: 32 bits of it for a first version. */
static __always_inline __u64 wide(struct call *c, __u64 number)
{
	return c->narrow ? (__u32)number : number;
}

/* Returns the device of allocated memory, with flags, and notes the context that owns it. */
static __noinline __u32 device_of(struct call *c, __u32 slot, __u32 kind)
{
	__u32 device = HOST_DEVICE;
	__u64 context = 0;

	if (!c)
		return device;
	if (kind == CUDA_HANDLE)
		device = located_by(slot, c->argument[2]);
	if (device == ANY_DEVICE || (kind != CUDA_HANDLE && kind != CUDA_HOST))
		device = current_device(slot, &context);
	if (kind == CUDA_HOST)
		context = current_context(cuda_thread(false)); /* page locks go with it as well */
	c->owner = is_pooled(c->operation) ? 0 : context;
	return c->operation == CUDA_ALLOC_POOL ? device_of_pool(slot, c->argument[2], device) : device;
}

/* Handles the return of a call that allocates memory. */
__attribute__((noinline)) int made(struct call *c, __u32 slot, __u32 failed)
{
	if (!c || (failed && failed != CUDA_ERROR_OUT_OF_MEMORY))
		return 0;
	__u64 size = c->argument[1], address = 0;
	__u32 kind = CUDA_POINTER, device;

	switch (c->operation) {
	case CUDA_ALLOC:
		size = wide(c, size);
		break;
	case CUDA_ALLOC_PITCH:
		size = wide(c, failed ? c->argument[2] : user_word(c->argument[1])) * wide(c, c->argument[3]);
		break;
	case CUDA_HOST_ALLOC:
	case CUDA_HOST_REGISTER:
		kind = CUDA_HOST;
		break;
	case CUDA_CREATE:
		kind = CUDA_HANDLE;
		break;
	case CUDA_ARRAY:
	case CUDA_ARRAY_3D:
	case CUDA_MIPMAP:
		kind = CUDA_IS_ARRAY;
		size = array_bytes(c->argument[1], c->operation == CUDA_ARRAY ? 2 : 3,
				   c->operation == CUDA_MIPMAP ? (__u32)c->argument[2] : 1, c->narrow);
		break;
	}
	device = device_of(c, slot, kind);
	misplaced(slot, device, failed ? 0 : size);
	device &= ~(GUESSED | UNKNOWN_POOL);
	if (failed) {
		struct process *p = process_at(slot);
		struct device *d = device == HOST_DEVICE ? NULL : device_at(slot, device);
		__s64 held = d ? d->value[DEVICE_DRIVER] : p ? p->value[METER_PINNED] : 0;
		refused(slot, (device == HOST_DEVICE ? METER_PINNED : device_meter(device, DEVICE_DRIVER)) | caller(),
			held, size, failed, c->stack);
		return 0;
	}
	address = c->operation == CUDA_HOST_REGISTER ? c->argument[0] : user_word(c->argument[0]);
	if (c->narrow && kind == CUDA_POINTER)
		address = (__u32)address;
	c->device = device;
	if (!address || !size) /* unreadable */
		misses(slot, MISSING_CUDA, size ? size : MISSING_UNKNOWN);
	block_made(c, slot, kind, address, size);
	return 0;
}

/* Handles the return of a call. */
static __always_inline int returned(struct call *c, __u32 slot, __u32 failed)
{
	__u64 first = c->argument[0];

	if (frees(c->operation)) {
		if (failed)
			block_put_back(c, slot, kind_freed(c->operation), first);
		else
			freed(c, slot);
		return 0;
	}
	if (makes(c->operation))
		return made(c, slot, failed);
	if (failed)
		return 0;
	switch (c->operation) {
	case CUDA_RELEASE:
		released(slot, first);
		break;
	case CUDA_MAP:
		mapped_in(slot, c);
		break;
	case CUDA_UNMAP:
		unmapped(slot, first, c->argument[1]);
		break;
	case CUDA_IMPORT:
		opened(slot, CUDA_HANDLE, user_word(first));
		break;
	case CUDA_IPC_OPEN:
		opened(slot, CUDA_FOREIGN, user_word(first));
		break;
	case CUDA_IPC_CLOSE:
		closed(slot, first);
		break;
	case CUDA_RETAIN:
		retained(slot, user_word(first));
		break;
	case CUDA_POOL_CREATE:
	case CUDA_POOL_DEFAULT:
	case CUDA_POOL_SET:
	case CUDA_POOL_AT:
	case CUDA_POOL_SET_AT:
		pool_made(c, slot);
		break;
	case CUDA_CTX_CREATE: {
		__u64 context = user_word(first);
		context_made(slot, context, c->device, false);
		push_context(slot, context, false);
		break;
	}
	case CUDA_CTX_DESTROY: {
		struct cuda_key key = key_of(slot, CUDA_CONTEXT, first);
		context_gone(slot, first);
		bpf_map_delete_elem(&cuda_objects, &key);
		struct cuda_thread *t = cuda_thread(false);
		if (t && current_context(t) == first)
			t->depth--;
		break;
	}
	case CUDA_CTX_SET:
		push_context(slot, first, true);
		break;
	case CUDA_CTX_PUSH:
		push_context(slot, first, false);
		break;
	case CUDA_CTX_POP:
		pop_context();
		break;
	case CUDA_PRIMARY_RETAIN: {
		__u64 context = user_word(first);
		struct cuda_thread *t = cuda_thread(true);
		context_made(slot, context, c->argument[1], true);
		if (t)
			t->retained = context;
		break;
	}
	case CUDA_PRIMARY_RELEASE:
	case CUDA_PRIMARY_RESET:
		primary_gone(slot, first, c->operation == CUDA_PRIMARY_RESET);
		break;
	}
	return 0;
}

/* Notes whether the driver's call is in one of the runtime's, which then names it. Managed memory has a name, too. */
static __noinline int entered_by_runtime(__u64 sp, __u32 managed)
{
	struct cuda_thread *t = cuda_thread(managed);

	if (t && t->runtime)
		t->calling = sp < t->runtime_sp ? t->runtime : 0;
	if (t && managed && !t->calling)
		t->calling = CALLER_MANAGED;
	return 0;
}

/*
 * Forgets the runtime's call after the driver's. A failed call of the driver may be repeated in it. In all other cases
 * the runtime's call has had its effect, or the stack has come back up.
 */
static __noinline int left_by_runtime(__u32 failed)
{
	struct cuda_thread *t = cuda_thread(false);

	if (!t)
		return 0;
	if (!t->calling || !failed)
		t->runtime = 0;
	t->calling = 0;
	return 0;
}

SEC("uretprobe")
int cuda_leave(struct pt_regs *regs)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), slot = current_slot();
	struct call *c = slot == NO_SLOT ? NULL : bpf_map_lookup_elem(&calls, &tid);

	/* The return address is off the stack by now. */
	if (!c || !c->sp || PT_REGS_SP(regs) != c->sp + RETURN_ADDRESS)
		return 0;
	entered_by_runtime(c->sp, c->operation == CUDA_ALLOC && c->known);
	returned(c, slot, PT_REGS_RC(regs));
	left_by_runtime(PT_REGS_RC(regs));
	c->sp = 0;
	return 0;
}

/* The entry of a function of the CUDA runtime: the driver's memory that it allocates or frees carries its name. */
SEC("uprobe")
int runtime_enter(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	struct cuda_thread *t = slot == NO_SLOT ? NULL : cuda_thread(true);

	if (!t)
		return 0;
	t->runtime_sp = PT_REGS_SP(regs);
	t->runtime_site = 0;
	if (READ_CALLER(t->runtime_site, regs))
		t->runtime_site = 0;
	t->runtime = bpf_get_attach_cookie(regs) & 0xff;
	return 0;
}

#endif
