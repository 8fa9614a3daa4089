/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The ledger's GPU side: meters of each device that a process and its tree have used. The same rules as in ledger.h and
 * boundary.h; a device without events since its last record has none at a boundary.
 */
#ifndef IPYTRACER_DEVICES_H
#define IPYTRACER_DEVICES_H

#define BOTH_MAX(a, b) ((a) > (b) ? (a) : (b))

static __always_inline struct device *device_at(__u32 slot, __u32 number)
{
	__u32 key = slot * MAX_DEVICES + (number & (MAX_DEVICES - 1));
	return bpf_map_lookup_elem(&devices, &key);
}

static __always_inline struct device_tree *device_tree_at(__u32 root, __u32 number)
{
	__u32 key = root * MAX_DEVICES + (number & (MAX_DEVICES - 1));
	return bpf_map_lookup_elem(&device_trees, &key);
}

/* Returns the device's number in the ledger, for its number in the process. */
static __always_inline __u32 physical_device(__u32 slot, __u32 ordinal)
{
	struct cuda_devices *d = bpf_map_lookup_elem(&ordinals, &slot);
	ordinal &= MAX_DEVICES - 1;
	asm volatile("" : "+r"(ordinal)); /* the verifier must see the bound where it is used */
	ordinal &= MAX_DEVICES - 1;
	if (!d || !d->physical[ordinal])
		return ordinal;
	return (d->physical[ordinal] - 1) & (MAX_DEVICES - 1);
}

static __always_inline void uses_device(struct process *p, struct root *r, __u32 number)
{
	__u32 bit = 1u << (number & (MAX_DEVICES - 1));

	if (!(p->devices & bit))
		__sync_fetch_and_or(&p->devices, bit);
	if (!(r->devices & bit))
		__sync_fetch_and_or(&r->devices, bit);
}

/* Returns the CUDA state of the thread that runs. */
static __always_inline struct cuda_thread *cuda_thread(bool make)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct cuda_thread *t = bpf_map_lookup_elem(&cuda_threads, &tid);

	if (t || !make)
		return t;
	static const struct cuda_thread none;
	bpf_map_update_elem(&cuda_threads, &tid, &none, BPF_NOEXIST);
	t = bpf_map_lookup_elem(&cuda_threads, &tid);
	if (!t)
		lose(LOSS_OBJECT); /* the caller counts what is missing */
	return t;
}

/* Returns the runtime's function that the thread is in, as a change has it beside the meter. */
static __noinline __u32 caller(void)
{
	struct cuda_thread *t = cuda_thread(false);
	return t ? (t->calling & 0xff) * CHANGE_CALLER : 0;
}

/*
 * A move of a device's meter. A move by a difference is always streamed. A move to a value (`to` is set: PyTorch
 * reports totals) is streamed at turning points only, like page meters: the value from which it falls is, if it is the
 * highest of the segment so far. Flags go into change.meter, and make that a value is streamed in any case.
 */
struct device_move {
	__u64 address;
	__u64 stack; /* the stack that allocated the block, 0 for none */
	__s64 amount;
	__s64 size; /* as it is streamed */
	__u32 slot;
	__u32 number;
	__u32 flags;
	__u16 meter; /* small, because these structures are used where little stack is left */
	__u16 to;
};

__attribute__((noinline)) int device_moves(struct device_move *move)
{
	if (!move)
		return 0;
	__u32 slot = move->slot, number = move->number & (MAX_DEVICES - 1);
	__u64 m = AT_MOST(move->meter, DEVICE_METERS - 1);
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	struct device *d = device_at(slot, number);
	struct device_tree *t = p ? device_tree_at(p->root, number) : NULL;
	if (!r || !d || !t)
		return 0;
	uses_device(p, r, number);
	__u64 segment = *(volatile __u64 *)&p->segment, stream = 0;
	__s64 difference = move->amount, tell = 0;
	if (!move->to || move->flags) {
		stream = next_change(r);
	} else if (move->amount < d->value[m]) {
		tell = d->value[m];
		if (!sent_before(&d->sent[m], segment, tell, SENT_UNIT) || !in_segment(p, segment))
			stream = next_change(r);
	}
	__s64 value = move->amount;
	if (move->to)
		difference = value - exchange(&d->value[m], value);
	else
		value = fetch_add(&d->value[m], difference) + difference;
	if (!move->to && m == DEVICE_RESERVED) /* its rises are PyTorch's totals; not all of them are streamed */
		tell = value - difference;
	raise_to(&d->high[m], value);
	raise_to(&t->high[m], fetch_add(&t->value[m], difference) + difference);
	if (stream)
		send_change(p, r, stream, segment, (METERS + number * DEVICE_METERS + m) | move->flags,
			    tell ? tell : value, move->size, move->address, move->stack);
	return 0;
}

/* Records a refused request for `size` bytes of a meter, which has not changed. */
static __always_inline void refused(__u32 slot, __u32 meter, __s64 held, __s64 size, __u64 address, __u64 stack)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return;
	__u64 segment = *(volatile __u64 *)&p->segment;
	send_change(p, r, next_change(r), segment, meter | CHANGE_REFUSED, held, size, address, stack);
}

/* Records the values and maxima of a device's meters, for the process in slot and for its tree, if anything moved. */
__attribute__((noinline)) int cut_device(__u32 slot, __u32 number, __u64 boundary)
{
	struct process *p = process_at(slot);
	struct device *d = device_at(slot, number);
	struct device_tree *t = p ? device_tree_at(p->root, number) : NULL;
	bool moved = false;

	if (!d || !t)
		return 0;
	for (int m = 0; m < DEVICE_METERS; m++)
		moved |= d->value[m] != d->told[m] || d->high[m] != d->told[m] || t->value[m] != t->told[m] ||
			 t->high[m] != t->told[m];
	if (!moved)
		return 0;
	__u64 ticket;
	struct boundary *b = new_record(&ticket, STORE_RESERVE / 2);
	if (!b) { /* its maxima stay for the next boundary */
		refuse_reading(p);
		return 0;
	}
	b->ticket = 0;
	b->kind = RECORD_DEVICE;
	b->number = boundary;
	b->segment = 0;
	b->root = p->root;
	b->pid = p->pid;
	b->device = number;
	b->text_size = 0;
	for (int m = 0; m < DEVICE_METERS; m++) {
		take(&d->value[m], &d->high[m], &b->value[m], &b->high[m]); /* here, because calls are deep already */
		d->told[m] = b->value[m];
		__s64 now = *(volatile __s64 *)&t->value[m], high = exchange(&t->high[m], now);
		b->tree[m] = now;
		b->tree_high[m] = BOTH_MAX(high, now);
		t->told[m] = now;
	}
	send_record(b, ticket);
	return 1;
}

/* Does that for every device that the tree has used. Returns the number of devices with records. */
__attribute__((noinline)) int cut_devices(__u32 slot, __u64 boundary)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return 0;
	__u32 used = r->devices;
	int told = 0;
	FORGET(told);
	for (__u32 number = 0; number < MAX_DEVICES; number++) {
		if (used & 1u << number) {
			told += cut_device(slot, number, boundary);
		}
	}
	return told;
}

static long forget_object(void *map, struct cuda_key *key, struct cuda_object *o, __u32 *slot)
{
	__u32 batch = o->batch;

	if (key->slot != *slot)
		return 0;
	bpf_map_delete_elem(map, key);
	if (batch)
		bpf_map_delete_elem(&torch_batches, &batch);
	return 0;
}

/* Forgets all CUDA objects of a process that ends, or executes another program. */
static __always_inline void forget_objects(struct process *p, __u32 slot)
{
	if (p->cuda)
		bpf_for_each_map_elem(&cuda_objects, forget_object, &slot, 0);
	p->cuda = 0;
}

/* Sets a process's device meters to 0 when it ends. */
__attribute__((noinline)) int empty_devices(__u32 slot)
{
	struct process *p = process_at(slot);

	if (!p || !p->devices)
		return 0;
	for (__u32 number = 0; number < MAX_DEVICES; number++) {
		struct device *d = device_at(slot, number);
		struct device_tree *t = device_tree_at(p->root, number);
		if (!d || !t || !(p->devices & 1u << number))
			continue;
		for (int m = 0; m < DEVICE_METERS; m++) {
			fetch_add(&t->value[m], -exchange(&d->value[m], 0));
			d->high[m] = 0;
			d->told[m] = 0;
			d->sent[m] = 0;
		}
		d->torch_epoch = 0;
		d->suspended = 0;
		d->foreign = 0;
	}
	p->devices = 0;
	return 0;
}

#endif
