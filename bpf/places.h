/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Live blocks of NumPy, of PyTorch on the CPU and of Arrow's pools, by their keys.
 *
 * A BPF hash table takes memory for each entry and a lock for its bucket, which was most of the cost of a small block.
 * So there is an array of places beside the tables. A key belongs in one of them, by its hash; only where another block
 * is in it a block goes into the table of its kind (it spills). The place counts the spilt blocks: where there are
 * none, the table is not searched. A key is in one of the two, never in both.
 *
 * The CPU that puts a block into a place takes the place first, then writes the block, and writes the key last: so
 * where the key is found, the block is complete.
 */
#ifndef IPYTRACER_PLACES_H
#define IPYTRACER_PLACES_H

static __always_inline __u64 block_key(__u32 slot, __u64 address)
{
	return (address & (TORCH_KEY - 1)) | (__u64)slot << SLOT_BIT;
}

static __always_inline struct place *place_of(__u64 key)
{
	__u32 place = key * 0x9e3779b97f4a7c15ull >> (64 - PLACE_BITS);

	return bpf_map_lookup_elem(&places, &place);
}

/* Returns the block of a key, NULL for none. */
static __always_inline struct block *block_at(void *table, __u64 key)
{
	struct place *at = place_of(key);

	if (!at)
		return NULL;
	if (*(volatile __u64 *)&at->key == key)
		return &at->block;
	return *(volatile __u32 *)&at->block.spilt ? bpf_map_lookup_elem(table, &key) : NULL;
}

/* Reports whether the block in a place is obsolete: its process has ended, or it was found to have gone. */
static __always_inline bool is_left_over(struct place *at, __u64 key)
{
	struct process *p = key > PLACE_TAKEN ? process_at(key >> SLOT_BIT & (MAX_PROCESSES - 1)) : NULL;
	__u64 era = *(volatile __u64 *)&at->block.era;

	return p && (!p->active || (era < p->first_era && era != ERA_FREE));
}

/* Puts a block into the table. Returns whether there was room. */
static __always_inline bool spill_block(void *table, __u64 key, struct block *fresh)
{
	struct place *at = place_of(key);

	if (!at)
		return false;
	fetch_add(&at->block.spilt, 1); /* first: a free of the block searches the table as soon as it is there */
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

/* Puts a block in, in place of `known`, the one with its key, if there is one. Returns whether there was room. */
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

/* Removes a block that is there. */
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
