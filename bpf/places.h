/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Live blocks of NumPy, of PyTorch on the CPU and of Arrow's pools, by their keys.
 *
 * A table of BPF's takes memory for each entry and a lock for its bucket, which was most of what a small block cost. So
 * there is an array of places beside the tables. A key belongs in one of them, by its hash; only where another block is
 * in it a block goes into the table of its kind (it spills). The place counts those: a block that is in neither is not
 * looked for in the table. A key is in one of the two, never in both.
 *
 * Who puts a block into a place takes it first, then writes, and writes the key last: who finds the key finds the
 * block.
 */
#ifndef IPYTRACER_PLACES_H
#define IPYTRACER_PLACES_H

static __always_inline __u64 block_key(__u32 slot, __u64 address)
{
	return (address & (TORCH_KEY - 1)) | (__u64)slot << 48;
}

static __always_inline struct place *place_of(__u64 key)
{
	__u32 place = key * 0x9e3779b97f4a7c15ull >> (64 - PLACE_BITS);

	return bpf_map_lookup_elem(&places, &place);
}

/* The block of a key, NULL for none. */
static __always_inline struct block *block_at(void *table, __u64 key)
{
	struct place *at = place_of(key);

	if (!at)
		return NULL;
	if (*(volatile __u64 *)&at->key == key)
		return &at->block;
	return *(volatile __u32 *)&at->block.spilt ? bpf_map_lookup_elem(table, &key) : NULL;
}

/* Whether nobody asks any more for what is in a place: its process has ended, or it was found out that it had gone. */
static __always_inline bool is_left_over(struct place *at, __u64 key)
{
	struct process *p = key > PLACE_TAKEN ? process_at(key >> 48 & (MAX_PROCESSES - 1)) : NULL;
	__u64 era = *(volatile __u64 *)&at->block.era;

	return p && (!p->active || (era < p->first_era && era != ERA_FREE));
}

/* Puts a block into the table. Returns whether there was room. */
static __always_inline bool spill_block(void *table, __u64 key, struct block *fresh)
{
	struct place *at = place_of(key);

	if (!at)
		return false;
	fetch_add(&at->block.spilt, 1); /* first: who frees it looks there as soon as it is there */
	if (!bpf_map_update_elem(table, &key, fresh, BPF_NOEXIST))
		return true;
	fetch_add(&at->block.spilt, -1);
	return !bpf_map_update_elem(table, &key, fresh, BPF_EXIST);
}

static __always_inline void write_block(struct block *to, struct block *fresh)
{
	to->size = fresh->size;
	to->era = fresh->era;
	to->telling = fresh->telling;
	barrier();
}

/* Puts a block in, in place of the one with its key where that is there: known. Returns whether there was room. */
static __always_inline bool put_block(void *table, __u64 key, struct block *known, struct block *fresh)
{
	if (known) {
		write_block(known, fresh);
		return true;
	}
	struct place *at = place_of(key);
	__u64 there = at ? *(volatile __u64 *)&at->key : 0;
	if (!at)
		return false;
	if ((there && !is_left_over(at, there)) || __sync_val_compare_and_swap(&at->key, there, PLACE_TAKEN) != there)
		return spill_block(table, key, fresh);
	write_block(&at->block, fresh);
	*(volatile __u64 *)&at->key = key;
	return true;
}

/* Takes a block that is there out. */
static __always_inline void drop_block(void *table, __u64 key)
{
	struct place *at = place_of(key);

	if (!at)
		return;
	if (*(volatile __u64 *)&at->key == key)
		__sync_val_compare_and_swap(&at->key, key, 0);
	else if (!bpf_map_delete_elem(table, &key))
		fetch_add(&at->block.spilt, -1);
}

#endif
