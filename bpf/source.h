/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The text of a cell, as it was typed and as it is compiled, in chunks. */
#ifndef IPYTRACER_SOURCE_H
#define IPYTRACER_SOURCE_H

struct source_copy {
	__u64 from;
	__u64 cell;
	__s32 pid;
	__u32 done;
	__u32 kind;
	__u32 total;
};

static __always_inline long copy_source(__u32 i, struct source_copy *c)
{
	struct source *s = bpf_ringbuf_reserve(&boundaries, sizeof(*s), 0);

	if (!s) {
		lose(LOSS_SOURCE);
		return 1;
	}
	__u32 left = c->total - c->done, size = left < SOURCE_CHUNK ? left : SOURCE_CHUNK;
	bool last = left <= SOURCE_CHUNK;
	long failed;
	if (c->kind) {
		failed = bpf_probe_read_user(s->text, AT_MOST(size, SOURCE_CHUNK), (void *)(c->from + c->done));
	} else {
		long n = bpf_probe_read_user_str(s->text, SOURCE_CHUNK, (void *)(c->from + c->done));
		failed = n <= 0;
		last = n < SOURCE_CHUNK;
		size = last ? n : SOURCE_CHUNK - 1; /* without the NUL, which only means that the chunk is full */
	}
	if (failed) {
		lose(LOSS_READ);
		bpf_ringbuf_discard(s, BPF_RB_NO_WAKEUP);
		return 1;
	}
	s->header.ticket = 0;
	s->header.kind = RECORD_SOURCE;
	s->header.cell = c->cell;
	s->header.pid = c->pid;
	s->offset = c->done;
	s->size = size;
	s->text_kind = c->kind;
	s->total = c->total;
	c->done += size;
	bpf_ringbuf_submit(s, 0);
	return last;
}
REPEATED(copy_source, struct source_copy *)

/* A chunk that most cells fit into. */
struct short_source {
	struct header header;
	__u32 offset;
	__u32 size;
	__u32 text_kind;
	__u32 total;
	__u8 text[SOURCE_SHORT];
};

static __always_inline void submit_short(struct short_source *s, struct source_copy *c, __u32 size)
{
	s->header.ticket = 0;
	s->header.kind = RECORD_SOURCE;
	s->header.cell = c->cell;
	s->header.pid = c->pid;
	s->offset = 0;
	s->size = size;
	s->text_kind = c->kind;
	s->total = c->total;
	bpf_ringbuf_submit(s, 0);
}

#define LONGEST_TYPED (1 << 28)

/* Sends the text of a cell as it was typed, if it is a str. Not static: two programs call it. */
__attribute__((noinline)) int send_typed(__u32 slot, __u64 text, __u64 cell, __s32 pid)
{
	struct python *py = python_at(slot);
	struct source_copy c = { .cell = cell, .pid = pid };
	__u64 type = 0, name = 0, length = 0;
	__u32 state = 0;
	char as[4] = {};

	if (!py || !text || READ(type, text + py->object_type) || READ(name, type + py->type_name) ||
	    bpf_probe_read_user_str(as, sizeof(as), (void *)name) != sizeof(as) ||
	    !starts_with(as, "str", sizeof(as)) || READ(state, text + py->string_state) ||
	    READ(length, text + py->string_length))
		return 0;
	state >>= py->string_kind & 31;
	c.kind = state & 7;
	if (!(state & STRING_COMPACT) || (c.kind != 1 && c.kind != 2 && c.kind != 4) || !length)
		return 0;
	c.total = (length < LONGEST_TYPED ? length : LONGEST_TYPED) * c.kind;
	c.from = text + (state & STRING_ASCII ? py->ascii_data : py->compact_data);
	if (c.total > SOURCE_SHORT) {
		REPEAT(SOURCE_CHUNKS, copy_source, &c);
		return 0;
	}
	struct short_source *s = bpf_ringbuf_reserve(&boundaries, sizeof(*s), 0);
	if (!s) {
		lose(LOSS_SOURCE);
		return 0;
	}
	if (bpf_probe_read_user(s->text, AT_MOST(c.total, SOURCE_SHORT), (void *)c.from)) {
		lose(LOSS_READ);
		bpf_ringbuf_discard(s, BPF_RB_NO_WAKEUP);
		return 0;
	}
	submit_short(s, &c, c.total);
	return 0;
}

/* Sends the text of a cell as it is compiled: in one short record if it fits, as most do. */
static __noinline int send_compiled(__u64 from, __u64 cell, __s32 pid)
{
	struct source_copy c = { .from = from, .cell = cell, .pid = pid };
	struct short_source *s = bpf_ringbuf_reserve(&boundaries, sizeof(*s), 0);

	if (s) {
		long n = bpf_probe_read_user_str(s->text, SOURCE_SHORT, (void *)from);
		if (n > 0 && n < SOURCE_SHORT) {
			submit_short(s, &c, n);
			return 0;
		}
		bpf_ringbuf_discard(s, BPF_RB_NO_WAKEUP);
	}
	REPEAT(SOURCE_CHUNKS, copy_source, &c);
	return 0;
}

#endif
