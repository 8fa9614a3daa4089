/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The page tables of x86-64: whether another process maps the page at an address as well. They are walked as the
 * processor does. See discover_map() for the addresses that this takes.
 *
 * They are walked where a page fault begins. Interrupts are off there, so the kernel frees no table meanwhile, as for
 * its own walks without a lock (mm/gup.c).
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
#define PAGE_KINDS     3 /* with another bit: KSM's, equal pages of any processes */

/* A page fault's error code. */
#define FAULT_WRITES  3	   /* a write to a page that is there */
#define FAULT_REFUSED 0x28 /* for another reason: reserved bits, protection keys */

#define ENTRY_PRESENT  1ull
#define ENTRY_WRITABLE (1ull << 1)
#define ENTRY_LARGE    (1ull << 7)
#define ENTRY_ADDRESS  0x000ffffffffff000ull
#define PAGE_SHIFT     12
#define TABLE_SHIFT    21 /* bytes that one page table maps */
#define TABLE_ENTRIES  512
#define USER_ADDRESSES 56 /* bits of an address of a process, at most */

/* Set before loading. */
const volatile __u32 entire_offset = 0; /* of folio->_entire_mapcount, or where that was before 6.1 */
const volatile __u64 large_flag = 0;	/* in page->flags: the page begins a large folio */

/* The kernel's map of all memory: addresses of physical memory and of struct page are linear there. */
__u64 map_base;	    /* address of physical address 0 */
__u64 pages_base;   /* address of page 0's struct page */
__u32 table_levels; /* of page tables: 4 or 5; 0: not known */

/* Reports whether other processes map an anonymous page that this process maps, too. */
static __always_inline bool others_map(__u64 page)
{
	__u64 head = FIELD(page, page, compound_head), folio = head & 1 ? head - 1 : page;
	__s32 maps = INT_FIELD(page, page, _mapcount) + 1;

	if ((FIELD(folio, page, mapping) & PAGE_KINDS) != PAGE_ANONYMOUS)
		return false;
	if (entire_offset && ((head & 1) || word_at(folio) & large_flag))
		maps += int_at(folio + entire_offset) + 1;
	return maps > 1;
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

/* Returns the address of the struct page that an entry for `size` bytes leads to. */
static __always_inline __u64 page_of_entry(__u64 entry, __u64 size)
{
	__u64 physical = entry & ENTRY_ADDRESS & ~(size - 1);

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

/*
 * Returns the struct page of an anonymous page that may only be read, and that another process has, too: a write to
 * that address makes a copy. 0 if there is none.
 */
__attribute__((noinline)) __u64 will_copy(__u64 mm, __u64 address)
{
	__u64 place, entry, page, number = address >> PAGE_SHIFT & (TABLE_ENTRIES - 1);

	if (!table_levels || address >> USER_ADDRESSES)
		return 0;
	place = place_in(FIELD(mm, mm_struct___forked, pgd), address, map_base, table_levels, TABLE_SHIFT);
	entry = place ? word_at(place) : 0;
	if (!(entry & ENTRY_PRESENT))
		return 0;
	if (entry & ENTRY_LARGE) {
		page = page_of_entry(entry, 1 << TABLE_SHIFT) + number * bpf_core_type_size(struct page);
	} else {
		entry = word_at(map_base + (entry & ENTRY_ADDRESS) + number * 8);
		page = page_of_entry(entry, 1 << PAGE_SHIFT);
	}
	return entry & ENTRY_PRESENT && !(entry & ENTRY_WRITABLE) && others_map(page) ? page : 0;
}

#endif
