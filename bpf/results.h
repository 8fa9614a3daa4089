/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The outcome of a cell, as IPython itself has it: every run_cell_async makes an ExecutionResult before anything else,
 * notes in it the exception that ended the cell (error_before_exec, error_in_exec), and returns it. It is read at the
 * end of the cell, on the thread that runs it; so later events, and late readers, change nothing.
 *
 * Sources: IPython 7.20 to 9.11, core/interactiveshell.py; Include/internal/pycore_dict.h and Objects/dict-common.h of
 * 3.9 to 3.15. All data are read from the target and may be wrong.
 */
#ifndef IPYTRACER_RESULTS_H
#define IPYTRACER_RESULTS_H

#define RESULT_NAME "ExecutionResult" /* compared with its NUL, so as a whole */

/* Reports whether a type has exactly this name, which with its NUL takes size bytes, at most 24. */
static __always_inline bool is_named(struct python *py, __u64 type, const char *wanted, __u32 size)
{
	__u64 name = 0;
	char text[24] = {};

	if (!type || READ(name, type + py->type_name))
		return false;
	if (bpf_probe_read_user_str(text, size, (void *)name) != size)
		return false;
	return starts_with(text, wanted, size);
}

/*
 * Returns the number of references to an object. Without the GIL those of the thread that made it, ob_ref_local, and
 * those of all others, ob_ref_shared, are counted apart, until the first are added to the second.
 */
static __always_inline __u64 references_to(struct python *py, __u64 object)
{
	__u64 count = 0;
	__s64 others = 0;

	if (!py->free_threaded)
		return READ(count, object) ? 0 : count;
	if (READ(count, object + 8) || READ(others, object + 16))
		return 0;
	return (count >> 32) + (others >> 2);
}

/*
 * Reports whether this is an ExecutionResult that is alive. A freed object has a pointer, or 0, in place of its count
 * of references.
 */
static __noinline bool is_result(struct python *py, __u64 object)
{
	__u64 type = 0;

	if (!py || !object)
		return false;
	__u64 references = references_to(py, object);
	if (!references || references >> 20)
		return false;
	if (READ(type, object + py->object_type) || !type)
		return false;
	if (type == py->result_type)
		return true;
	if (!is_named(py, type, RESULT_NAME, sizeof(RESULT_NAME)))
		return false;
	py->result_type = type;
	return true;
}

struct local_search {
	struct python *py;
	__u64 locals;
	__u64 result;
};

/* Handles one local variable. A nested function refers to the result's, so the frame has a cell in its place. */
static __always_inline long next_local(__u32 i, struct local_search *s)
{
	struct python *py = s->py;
	__u64 object = 0, type = 0;

	if (READ(object, s->locals + 8 * i))
		return 1;
	object &= py->code_mask; /* references have the same tag bits */
	if (!object || READ(type, object + py->object_type))
		return 0;
	if (type == py->cell_type || is_named(py, type, "cell", sizeof("cell"))) {
		py->cell_type = type;
		if (READ(object, object + py->var_size)) /* ob_ref: the word behind the header */
			return 0;
	}
	if (!is_result(py, object))
		return 0;
	s->result = object;
	return 1;
}
REPEATED(next_local, struct local_search *)

#define MAX_LOCALS 40 /* run_cell_async has 25 */

/* Returns the ExecutionResult of the run_cell_async with these variables; 0: not found. */
static __noinline __u64 result_of(struct python *py, __u64 locals)
{
	struct local_search s = { .py = py, .locals = locals };

	if (!py || !locals)
		return 0;
	REPEAT(MAX_LOCALS, next_local, &s);
	return s.result;
}

struct attributes {
	struct python *py;
	__u64 entries; /* address of the first entry's key; its value follows */
	__u64 values;  /* address of the values of a split table, else 0 */
	__u32 stride;
	__u32 count;
	__u64 error; /* address of the name of the exception's type, if there is one */
	__u32 outcome;
	__u32 padding;
};

static __always_inline long next_attribute(__u32 i, struct attributes *a)
{
	struct python *py = a->py;
	__u64 key = 0, value = 0, type = 0, at = a->entries + i * a->stride;
	__u32 kind = 0, size = 0;
	char name[6] = {};

	if (i >= a->count)
		return 1;
	if (READ(key, at) || READ(value, a->values ? a->values + 8 * i : at + 8)) {
		a->outcome = OUTCOME_UNKNOWN;
		return 1;
	}
	if (!key || !value)
		return 0;
	__u64 data = string_data(py, key, &kind, &size);
	if (!data || bpf_probe_read_user(name, sizeof(name), (void *)data) ||
	    !starts_with(name, "error_", sizeof(name)))
		return 0;
	if (READ(type, value + py->object_type) || is_named(py, type, "NoneType", sizeof("NoneType")))
		return 0;
	a->outcome = is_named(py, type, "KeyboardInterrupt", sizeof("KeyboardInterrupt")) ? OUTCOME_INTERRUPTED
											  : OUTCOME_ERROR;
	if (READ(a->error, type + py->type_name))
		a->error = 0;
	return 1;
}
REPEATED(next_attribute, struct attributes *)

/* Reads the header of a PyDictKeysObject: the position of its entries. */
static __always_inline bool read_keys(struct python *py, __u64 keys, struct attributes *a)
{
	__u8 head[40];
	__u64 count = 0, size = 0;

	if (!keys || bpf_probe_read_user(head, sizeof(head), (void *)keys))
		return false;
	if (py->instance_kind == INSTANCE_POINTER) {
		size = *(__u64 *)(head + 8);
		count = *(__u64 *)(head + 32);
		a->entries = keys + 40 + size * (size > 0xff ? size > 0xffff ? 4 : 2 : 1) + 8;
		a->stride = 24;
	} else {
		bool general = !head[10];
		count = *(__u64 *)(head + 24);
		a->entries = keys + 32 + (1ULL << (head[9] & 31)) + (general ? 8 : 0);
		a->stride = general ? 24 : 16;
	}
	a->count = count;
	return count <= MAX_NAMES;
}

/*
 * Finds the attributes of an instance: in a dict of its own, or as values only, with the names in its type. By version:
 * 3.9 and 3.10 have a pointer to the dict, 3.11 words for both in front of the object, 3.12 one word for either, later
 * ones the values behind the instance, and a dict's address in front of it.
 */
static __noinline bool find_attributes(struct python *py, __u64 object, struct attributes *a)
{
	__u64 type = 0, dict = 0, values = 0, keys = 0;
	__s64 at = 0;

	if (!py || !a || READ(type, object + py->object_type))
		return false;
	switch (py->instance_kind) {
	case INSTANCE_POINTER:
		if (READ(at, type + py->type_dict_offset) || at <= 0 || READ(dict, object + at))
			return false;
		break;
	case INSTANCE_TWO_WORDS:
		if (READ(dict, object - 24) || READ(values, object - 32))
			return false;
		break;
	case INSTANCE_TAGGED:
		if (READ(dict, object - 24))
			return false;
		if (dict & 1) {
			values = dict + 1;
			dict = 0;
		}
		break;
	case INSTANCE_INLINE:
		if (READ(dict, object - (py->free_threaded ? 8 : 24)) || READ(at, type + py->type_basic_size))
			return false;
		values = object + at + 8;
		break;
	default:
		return false;
	}
	if (!dict)
		return values && !READ(keys, type + py->cached_keys) && (a->values = values) && read_keys(py, keys, a);
	if (READ(keys, dict + py->dict_keys) || READ(values, dict + py->dict_values))
		return false;
	if (values)
		a->values = values + (py->instance_kind == INSTANCE_INLINE ? 8 : 0);
	return read_keys(py, keys, a);
}

/*
 * Returns how a cell ended, by its ExecutionResult: ok unless there is an error in it, unknown where it cannot be read.
 * error gets the address of the name of the exception's type (tp_name), 0 for none. Not static: two functions of a
 * program call it.
 */
__attribute__((noinline)) int told_outcome(__u32 slot, __u64 result, __u64 *error)
{
	struct python *py = python_at(slot);
	struct attributes a = { .py = py, .outcome = OUTCOME_OK };

	if (!py || !error || !is_result(py, result) || !find_attributes(py, result, &a) || a.count > MAX_ATTRIBUTES)
		return OUTCOME_UNKNOWN;
	REPEAT(MAX_ATTRIBUTES, next_attribute, &a);
	*error = a.error;
	return a.outcome;
}

#endif
