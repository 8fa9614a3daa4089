/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "slots.h"

#include "counts.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define JUMP_SLOT R_X86_64_JUMP_SLOT
#define GLOB_DAT  R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define JUMP_SLOT R_AARCH64_JUMP_SLOT
#define GLOB_DAT  R_AARCH64_GLOB_DAT
#endif

#define MOST_SLOTS 8

struct slot {
	uintptr_t *at;
	int which;           /* of the two functions */
	int read_only;       /* its page is, once the library is loaded (RELRO) */
};

/* What is known of the library. */
struct library {
	const struct detour *two;
	const ElfW(Sym) *symbols;
	const char *names;
	uintptr_t base, writable, writable_end, relro, relro_end;
	struct slot slots[MOST_SLOTS];
	int count, found[2];
	enum untouched why;
};

static int is_named(const char *name, const char *wanted)
{
	while (*name && *name == *wanted)
		name++, wanted++;
	return *name == *wanted;
}

/* add_slot takes in a relocation, if it is of one of the functions. */
static void add_slot(struct library *l, const ElfW(Rela) *r)
{
	uintptr_t at = l->base + r->r_offset;
	unsigned long type = ELF64_R_TYPE(r->r_info);

	if (type != JUMP_SLOT && type != GLOB_DAT)
		return;
	for (int which = 0; which < 2; which++) {
		if (!is_named(l->names + l->symbols[ELF64_R_SYM(r->r_info)].st_name, l->two[which].symbol))
			continue;
		if (l->count == MOST_SLOTS || at % sizeof(void *) || at < l->writable ||
		    at > l->writable_end - sizeof(void *)) {
			l->why = NO_SLOTS;
			return;
		}
		if (*(uintptr_t *)at != (uintptr_t)l->two[which].from)
			l->why = OTHERS_SLOTS;
		l->slots[l->count++] = (struct slot){ (uintptr_t *)at, which, at >= l->relro && at < l->relro_end };
		l->found[which] = 1;
	}
}

static uintptr_t whole_pages(uintptr_t at)
{
	return at & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

/* in_memory returns the address that an entry of the dynamic section has: glibc adds the base to it, musl does not. */
static uintptr_t in_memory(const struct library *l, ElfW(Addr) value)
{
	return value < l->base ? l->base + value : value;
}

static void find_slots(struct library *l, const ElfW(Dyn) *dynamic)
{
	const ElfW(Rela) *tables[2] = { NULL, NULL };
	size_t sizes[2] = { 0, 0 };

	for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SYMTAB: l->symbols = (const void *)in_memory(l, d->d_un.d_ptr); break;
		case DT_STRTAB: l->names = (const void *)in_memory(l, d->d_un.d_ptr); break;
		case DT_JMPREL: tables[0] = (const void *)in_memory(l, d->d_un.d_ptr); break;
		case DT_PLTRELSZ: sizes[0] = d->d_un.d_val; break;
		case DT_RELA: tables[1] = (const void *)in_memory(l, d->d_un.d_ptr); break;
		case DT_RELASZ: sizes[1] = d->d_un.d_val; break;
		case DT_PLTREL: if (d->d_un.d_val != DT_RELA) return; break;
		}
	}
	if (!l->symbols || !l->names)
		return;
	for (int table = 0; table < 2; table++)
		for (size_t i = 0; tables[table] && i < sizes[table] / sizeof *tables[table]; i++)
			add_slot(l, tables[table] + i);
}

/* look_at is called for each library, and looks into the one that has the first function. */
static int look_at(struct dl_phdr_info *info, size_t size, void *to)
{
	struct library *l = to;
	uintptr_t function = (uintptr_t)l->two[0].from;
	const ElfW(Dyn) *dynamic = NULL;
	int has = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_DYNAMIC)
			dynamic = (const void *)at;
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && function >= at && function < at + p->p_memsz)
			has = 1;
	}
	if (!has || !dynamic)
		return 0;
	l->base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && (p->p_flags & PF_W)) { /* mostly there is one */
			if (!l->writable)
				l->writable = at;
			l->writable_end = at + p->p_memsz;
		}
		if (p->p_type == PT_GNU_RELRO) {
			l->relro = whole_pages(at);
			l->relro_end = whole_pages(at + p->p_memsz);
		}
	}
	find_slots(l, dynamic);
	return 1;
}

static int protect(const struct slot *slot, int how)
{
	return mprotect((void *)whole_pages((uintptr_t)slot->at), (size_t)sysconf(_SC_PAGESIZE), how);
}

static void close_slots(const struct library *l, int count)
{
	for (int i = 0; i < count; i++)
		if (l->slots[i].read_only)
			protect(&l->slots[i], PROT_READ);
}

enum untouched lead_calls(const struct detour two[2])
{
	struct library l = { .two = two };

	dl_iterate_phdr(look_at, &l);
	if (l.why)
		return l.why;
	if (!l.found[0] || !l.found[1])
		return NO_SLOTS;
	for (int i = 0; i < l.count; i++) {
		if (l.slots[i].read_only && protect(&l.slots[i], PROT_READ | PROT_WRITE)) {
			close_slots(&l, i);
			return READ_ONLY_SLOTS;
		}
	}
	for (int which = 1; which >= 0; which--)
		for (int i = 0; i < l.count; i++)
			if (l.slots[i].which == which)
				__atomic_store_n(l.slots[i].at, (uintptr_t)two[which].to, __ATOMIC_SEQ_CST);
	close_slots(&l, l.count);
	return DETOURED;
}
