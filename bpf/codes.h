/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Code objects, as stacks identify them: by a number that is a hash of their contents. */
#ifndef IPYTRACER_CODES_H
#define IPYTRACER_CODES_H

#define MIX_FACTOR 0x9e3779b97f4a7c15ull
#define LOOK_AGAIN 16	      /* walks of a thread without Python */
#define FAR_AWAY   (64 << 10) /* bytes between two frames */
#define TABLE_END  32	      /* bytes of each end of a line table that are part of its code object's number */

static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * MIX_FACTOR;
	return hash ^ hash >> 29;
}

/* Returns a seed that makes the numbers of one process differ from another's. */
static __always_inline __u64 walk_seed(struct process *p, __u32 slot)
{
	return mix(p->started, slot);
}

static __always_inline __u64 frame_word(struct walk *w, __u32 offset)
{
	return w->frames_copy[(w->frame_at + offset / 8) & (STRETCH_WORDS - 1)] >> offset % 8 * 8;
}

static __always_inline __u64 code_word(struct walk *w, __u32 offset)
{
	return w->code_copy[offset / 8 & (CODE_WORDS - 1)] >> offset % 8 * 8;
}

/* Sends the names of a code object, and its line table. */
static __noinline bool send_code(struct walk *w, struct python *py, __u64 number)
{
	if (!w || !py)
		return false;
	struct code *c = bpf_ringbuf_reserve(&boundaries, sizeof(*c), 0);
	if (!c)
		return false;
	__u64 table = code_word(w, py->code_line_table);
	c->header.ticket = 0;
	c->header.cell = 0;
	c->header.kind = RECORD_CODE;
	c->header.pid = w->pid;
	c->number = number;
	c->table = table + py->bytes_data;
	c->first_line = code_word(w, py->code_first_line);
	c->table_size = w->table_head[0] > 0x7fffffff ? 0x7fffffff : w->table_head[0];
	c->file_kind = c->file_size = c->name_kind = c->name_size = 0;
	__u32 kind = 0, size = 0;
	__u64 data = string_data(py, code_word(w, py->code_filename), &kind, &size);
	if (data && !bpf_probe_read_user(c->file, AT_MOST(size, TEXT_SIZE), (void *)data)) {
		c->file_kind = kind;
		c->file_size = size;
	}
	data = string_data(py, code_word(w, py->code_full_name), &kind, &size);
	if (data && !bpf_probe_read_user(c->name, AT_MOST(size, TEXT_SIZE), (void *)data)) {
		c->name_kind = kind;
		c->name_size = size;
	}
	bool cut = c->table_size > LINES_SIZE;
	if (bpf_probe_read_user(c->lines, AT_MOST((__u64)c->table_size, LINES_SIZE), (void *)c->table))
		c->table_size = TABLE_UNREADABLE;
	/* The rest of the table must be fetched while it is there. */
	bpf_ringbuf_submit(c, cut ? BPF_RB_FORCE_WAKEUP : wakes_if_many());
	return true;
}

/*
 * Returns a number that no other code object at this address has, from Python 3.12 on: a hash of its version, which no
 * other has. Then nothing else of it need be read.
 */
static __always_inline __u64 hash_by_version(struct walk *w, struct python *py, __u64 code)
{
	__u32 version = 0;

	if (!py->code_version || READ(version, code + py->code_version) || !version)
		return 0;
	return mix(mix(w->seed, code), version);
}

/* Does the same before 3.12, and where versions have run out: from its pointers and its line table. */
static __noinline __u64 hash_by_contents(struct walk *w, struct python *py, __u64 code)
{
	if (!w || !py)
		return 0;
	__u64 table = code_word(w, py->code_line_table), size = w->table_head[0], hash = mix(w->seed, code);
	__builtin_memset(w->table_tail, 0, sizeof(w->table_tail));
	if (size > TABLE_END)
		READ(w->table_tail, table + py->bytes_data + size - TABLE_END);
	hash = mix(hash, table);
	hash = mix(hash, code_word(w, py->code_filename));
	hash = mix(hash, code_word(w, py->code_name));
	hash = mix(hash, (__u32)code_word(w, py->code_first_line));
	hash = mix(hash, size);
	/* Behind a short table lie other data. */
	if (size >= 8)
		hash = mix(hash, w->table_head[2]);
	else
		hash = mix(hash, w->table_head[2] & ((1ull << (size & 7) * 8) - 1));
	if (size >= 24)
		hash = mix(mix(hash, w->table_head[3]), w->table_head[4]);
	hash = mix(mix(hash, w->table_tail[0]), w->table_tail[1]);
	return mix(mix(hash, w->table_tail[2]), w->table_tail[3]);
}

/*
 * Returns the number of a code object that is not known by its address; 0 if it is unreadable, or cannot be sent when
 * it is first seen.
 */
static __noinline __u64 read_code(struct walk *w, struct python *py, __u64 code)
{
	if (!w || !py)
		return 0;
	__u64 hash = hash_by_version(w, py, code);
	if (hash && bpf_map_lookup_elem(&codes, &hash))
		return hash;
	if (bpf_probe_read_user(w->code_copy, CODE_BYTES, (void *)code))
		return 0;
	/* Length, hash, the first bytes. */
	if (READ(w->table_head, code_word(w, py->code_line_table) + py->var_size))
		return 0;
	if (!hash)
		hash = hash_by_contents(w, py, code);
	if (bpf_map_lookup_elem(&codes, &hash))
		return hash;
	__u32 one = 1;
	if (bpf_map_update_elem(&codes, &hash, &one, BPF_NOEXIST)) {
		if (bpf_map_lookup_elem(&codes, &hash)) /* another thread was faster */
			return hash;
	} else if (send_code(w, py, hash)) {
		return hash;
	} else {
		bpf_map_delete_elem(&codes, &hash);
	}
	lose(LOSS_CODE);
	return 0;
}

/* Returns the number of a code object, 0 if it has none. */
__attribute__((noinline)) __u64 code_number(struct walk *w, __u64 code)
{
	struct python *py = w ? python_at(w->slot) : NULL;

	if (!w || !py)
		return 0;
	if (!py->code_frees)
		return read_code(w, py, code);
	__u64 key = mix(w->seed, code), *known = bpf_map_lookup_elem(&code_numbers, &key);
	if (known)
		return *known;
	__u64 number = read_code(w, py, code);
	if (number)
		bpf_map_update_elem(&code_numbers, &key, &number, BPF_ANY);
	return number;
}

#endif
