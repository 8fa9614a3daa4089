/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Page tables: which pages of a range other processes map as well.
 *
 * For x86: the tables are walked as its processors do. See discover_map() for the addresses that this takes.
 */
#ifndef IPYTRACER_PAGETABLES_H
#define IPYTRACER_PAGETABLES_H

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpadded"

struct page {
	unsigned long compound_head; /* of a page of a large folio: the folio, plus 1 */
	void *mapping;		     /* of anonymous pages with PAGE_ANONYMOUS */
	struct {
		int counter;
	} _mapcount; /* entries of page tables, less 1 */
} KERNEL_TYPE;

struct vm_struct {
	struct page **pages;
} KERNEL_TYPE;

struct task_struct___forked {
	void *stack;
	struct vm_struct *stack_vm_area;
} KERNEL_TYPE;

struct mm_struct___forked {
	void *pgd;
} KERNEL_TYPE;

#pragma clang diagnostic pop

#define PAGE_ANONYMOUS 1

#define ENTRY_PRESENT  1ull
#define ENTRY_WRITABLE (1ull << 1)
#define ENTRY_LARGE    (1ull << 7)
#define ENTRY_HIDDEN \
	(1ull << 8) /* without ENTRY_PRESENT: there, and may not be used (PROT_NONE); its address is inverted */
#define ENTRY_ADDRESS 0x000ffffffffff000ull
#define PAGE_SHIFT    12
#define TABLE_SHIFT   21 /* bytes that one page table maps */
#define TABLE_ENTRIES 512
#define MOST_STEPS    (1u << 22)
#define MOST_LOOKS    (1u << 20) /* pages of a range that are looked at */

/* Set before loading. */
const volatile __u32 entire_offset = 0; /* of folio->_entire_mapcount, or where that was before 6.1 */
const volatile __u64 large_flag = 0;	/* in page->flags: the page begins a large folio */

/* The kernel's map of all memory: addresses of physical memory and of struct page are linear there. */
__u64 map_base;	    /* address of physical address 0 */
__u64 pages_base;   /* address of page 0's struct page */
__u32 table_levels; /* of page tables: 4 or 5; 0: not known */

/* Reports whether other processes map an anonymous page; `own` is the number of this process's own entries for it. */
static __always_inline bool others_map(__u64 page, __s32 own)
{
	__u64 head = FIELD(page, page, compound_head), folio = head & 1 ? head - 1 : page;
	__s32 maps = INT_FIELD(page, page, _mapcount) + 1;

	if (!(FIELD(folio, page, mapping) & PAGE_ANONYMOUS))
		return false;
	if (entire_offset && ((head & 1) || word_at(folio) & large_flag))
		maps += int_at(folio + entire_offset) + 1;
	return maps > own;
}

/*
 * Returns the address of the entry for 1 << shift bytes (39, 30, TABLE_SHIFT, PAGE_SHIFT) at an address, 0 if there is
 * no table for it.
 */
static __always_inline __u64 place_in(__u64 table, __u64 address, __u64 base, __u32 levels, __u32 shift)
{
	__u64 entry;

	if (levels == 5) {
		entry = word_at(table + (address >> 48 & 511) * 8);
		if (!(entry & ENTRY_PRESENT))
			return 0;
		table = base + (entry & ENTRY_ADDRESS);
	}
#pragma clang loop unroll(full)
	for (__u32 at = 39; at > shift; at -= 9) {
		entry = word_at(table + (address >> at & 511) * 8);
		if (!(entry & ENTRY_PRESENT) || (at < 39 && entry & ENTRY_LARGE))
			return 0;
		table = base + (entry & ENTRY_ADDRESS);
	}
	return table + (address >> shift & 511) * 8;
}

/* Returns the address of an entry for 2 MiB, 0 if there is no page table for it: then for all of `hole`, a power of 2.
 */
static __always_inline __u64 table_entry(__u64 mm, __u64 address, __u64 *hole)
{
	__u64 table = FIELD(mm, mm_struct___forked, pgd), place = place_in(table, address, map_base, table_levels, 30);

	*hole = 1ull << 39;
	if (!place)
		return 0;
	*hole = 1ull << 30;
	__u64 entry = word_at(place);
	if (!(entry & ENTRY_PRESENT) || entry & ENTRY_LARGE)
		return 0;
	*hole = 1ull << TABLE_SHIFT;
	return map_base + (entry & ENTRY_ADDRESS) + (address >> TABLE_SHIFT & 511) * 8;
}

/* Returns the address of the struct page that an entry for `size` bytes leads to. */
static __always_inline __u64 page_of_entry(__u64 entry, __u64 size)
{
	__u64 physical = (entry & ENTRY_PRESENT ? entry : ~entry) & ENTRY_ADDRESS & ~(size - 1);

	return pages_base + (physical >> PAGE_SHIFT) * bpf_core_type_size(struct page);
}

/* A guess of where the kernel has its map of memory. */
struct guess {
	__u64 known; /* an address there */
	__u64 table; /* the page table of the highest level */
	__u64 base;
	__u32 levels; /* 0: it is wrong */
	__u32 padding;
};

/* Returns the physical address behind an address of the kernel by a guess, 0 for none. */
static __always_inline __u64 physical_of(__u64 table, __u64 address, __u64 base, __u32 levels)
{
	__u64 entry, place = place_in(table, address, base, levels, 30);

	entry = place ? word_at(place) : 0;
	if (entry & ENTRY_PRESENT && entry & ENTRY_LARGE)
		return (entry & ENTRY_ADDRESS & ~((1ull << 30) - 1)) | (address & ((1ull << 30) - 1));
	place = place_in(table, address, base, levels, TABLE_SHIFT);
	entry = place ? word_at(place) : 0;
	if (entry & ENTRY_PRESENT && entry & ENTRY_LARGE)
		return (entry & ENTRY_ADDRESS & ~((1ull << TABLE_SHIFT) - 1)) | (address & ((1ull << TABLE_SHIFT) - 1));
	place = place_in(table, address, base, levels, PAGE_SHIFT);
	entry = place ? word_at(place) : 0;
	return entry & ENTRY_PRESENT ? (entry & ENTRY_ADDRESS) | (address & ((1ull << PAGE_SHIFT) - 1)) : 0;
}

/* The kernel begins its map at a whole gibibyte. A guess is right if by it the known address leads to itself. */
static __always_inline long guess_again(__u32 i, struct guess *g)
{
	g->base = (g->known & ~((1ull << 30) - 1)) - ((__u64)i << 30);
	if (physical_of(g->table, g->known, g->base, 4) == g->known - g->base)
		g->levels = 4;
	else if (physical_of(g->table, g->known, g->base, 5) == g->known - g->base)
		g->levels = 5;
	return g->levels != 0;
}
REPEATED(guess_again, struct guess *)

#define MOST_GUESSES (1 << 16) /* gibibytes of memory, with holes */

/*
 * Finds out where the kernel has its map of memory, and the structures of the pages there: a page table is in that map,
 * and of the pages of its own stack the kernel knows both addresses and structures.
 */
SEC("syscall")
int discover_map(void *unused)
{
	__u64 task = bpf_get_current_task();
	struct guess g = { .table = FIELD(FIELD(task, task_struct, mm), mm_struct___forked, pgd) };
	__u64 stack = FIELD(task, task_struct___forked, stack), area = FIELD(task, task_struct___forked, stack_vm_area);

	g.known = g.table;
	REPEAT(MOST_GUESSES, guess_again, &g);
	if (!g.levels || !area)
		return 1;
	__u64 first = word_at(FIELD(area, vm_struct, pages)), physical = physical_of(g.table, stack, g.base, g.levels);
	if (!first || !physical)
		return 2;
	map_base = g.base;
	pages_base = first - (physical >> PAGE_SHIFT) * bpf_core_type_size(struct page);
	table_levels = g.levels;
	return 0;
}

/* Addresses with their pages, as far as they have been looked at. */
struct stretch {
	__u64 mm;
	__u64 at;
	__u64 end;
	__u64 table; /* the page table there, or the first struct page of a large page; 0: not looked up yet */
	__s64 kept;  /* pages that others map */
	__s64 left;  /* pages that may be looked at */
	__u32 large; /* it is a large page */
	__s32 own;   /* processes that map a page and do not count */
};

/* Looks up the table at an address, or leaves out the addresses that have none. */
static __always_inline void next_table(struct stretch *s)
{
	__u64 hole, place = table_entry(s->mm, s->at, &hole), entry = place ? word_at(place) : 0;

	s->large = !!(entry & ENTRY_LARGE);
	if (!(entry & (ENTRY_PRESENT | ENTRY_HIDDEN)))
		s->at = (s->at | (hole - 1)) + 1;
	else if (s->large)
		s->table = page_of_entry(entry, 1 << TABLE_SHIFT);
	else
		s->table = map_base + (entry & ENTRY_ADDRESS);
}

static __always_inline long look_at_page(__u32 i, struct stretch *s)
{
	__u64 number = s->at >> PAGE_SHIFT & (TABLE_ENTRIES - 1), page = 0;

	if (s->at >= s->end || s->left <= 0)
		return 1;
	if (!s->table) {
		next_table(s);
		return 0;
	}
	if (s->large) {
		page = s->table + number * bpf_core_type_size(struct page);
	} else {
		__u64 entry = word_at(s->table + number * 8);
		if (entry & (ENTRY_PRESENT | ENTRY_HIDDEN))
			page = page_of_entry(entry, 1 << PAGE_SHIFT);
	}
	if (page) {
		s->left--;
		s->kept += others_map(page, s->own);
	}
	s->at += 1 << PAGE_SHIFT;
	if (number == TABLE_ENTRIES - 1)
		s->table = 0;
	return 0;
}
REPEATED(look_at_page, struct stretch *)

/*
 * Returns how many pages of a range other processes map as well, without `ending` processes that are about to unmap
 * theirs; -1 if there were too many pages to look at.
 */
__attribute__((noinline)) __s64 shared_pages(__u64 mm, __u64 from, __u64 to, __u32 ending)
{
	struct stretch s = { .mm = mm, .at = from, .end = to, .left = MOST_LOOKS, .own = 1 + ending };

	FORGET(s.left);
	FORGET(s.kept);
	FORGET(s.table);
	FORGET(s.large);
	REPEAT(MOST_STEPS, look_at_page, &s);
	return s.at >= to ? s.kept : -1;
}

/*
 * Returns the struct page of an anonymous page that may only be read, and that another process has, too: a write to
 * that address makes a copy. 0 if there is none.
 */
__attribute__((noinline)) __u64 will_copy(__u64 mm, __u64 address)
{
	__u64 hole, place = table_entry(mm, address, &hole), entry = place ? word_at(place) : 0,
		    number = address >> PAGE_SHIFT & (TABLE_ENTRIES - 1), page;

	if (!(entry & ENTRY_PRESENT))
		return 0;
	if (entry & ENTRY_LARGE) {
		page = page_of_entry(entry, 1 << TABLE_SHIFT) + number * bpf_core_type_size(struct page);
	} else {
		entry = word_at(map_base + (entry & ENTRY_ADDRESS) + number * 8);
		page = page_of_entry(entry, 1 << PAGE_SHIFT);
	}
	return entry & ENTRY_PRESENT && !(entry & ENTRY_WRITABLE) && others_map(page, 1) ? page : 0;
}

#endif
