/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The overhead budget: one account for each root.
 *
 * Credit is how many nanoseconds probes may take. It grows with time, at the share that user space sets, up to
 * budget_full, and is full at the attach: what was not spent while the program idled or computed may be spent in a
 * burst. Every hit of a probe takes its group's price, every walk up a stack what it took. The clock is looked at only
 * when the credit has fallen to the account's floor: then it is topped up for the time that has passed, and if that is
 * not enough one group is stepped down, with a boundary. Which one: the first class of step_class whose level the
 * credit is below, and of that class the group that spent most of late; one that spent next to nothing is left alone,
 * because stepping it down would gain nothing. User space steps up, in the opposite order, when the credit has risen.
 *
 * What a group that is down still costs, until its probes are out, is paid as well, but steps nothing down.
 */
#ifndef IPYTRACER_BUDGET_H
#define IPYTRACER_BUDGET_H

#define EIGHTHS	      8
#define SIGNIFICANT   16	       /* a group that spent less than a sixteenth of all is left alone */
#define LOOK_AGAIN_AT 16	       /* after a step: when a sixteenth of a full account more is spent */
#define LONGEST_WALK  100000	       /* ns; more is time in which the thread did not run */
#define LONGEST_WAIT  1000000000000ull /* ns; every account is full by then */
#define SECOND	      1000000000ull
#define MILLION	      1000000

/* A struct occasion, whose pointer has no Go type. */
struct step {
	__u64 words[(sizeof(struct occasion) + 7) / 8];
};

struct MAP(BPF_MAP_TYPE_ARRAY, __u32, struct step, MAX_ROOTS *GROUPS, 0) steps SEC(".maps");

/* The classes of groups, in the order in which they are stepped down. */
enum step_class { STEP_NEVER, STEP_NATIVE, STEP_LINES, STEP_SMALL, STEP_METER, STEP_CELLS, STEP_CLASSES };

#define BIT(group) (1u << (group))
#define LINES \
	(BIT(GROUP_FRAMES) | BIT(GROUP_SMALL_STACKS) | BIT(GROUP_TENSORS) | BIT(GROUP_MAPPING) | BIT(GROUP_BLOCKS))

/* Sums and no branches, of which the verifier would follow each. */
static __always_inline __u32 class_of(__u32 group)
{
	const __u32 meters = BIT(GROUP_NUMPY) | BIT(GROUP_TORCH) | BIT(GROUP_TORCH_CPU);
	const __u32 cells = BIT(GROUP_STATEMENT) | BIT(GROUP_RESULT);

	group &= GROUPS - 1;
	return (BIT(GROUP_NATIVE) >> group & 1) * STEP_NATIVE + (LINES >> group & 1) * STEP_LINES +
	       (BIT(GROUP_SMALL) >> group & 1) * STEP_SMALL + (meters >> group & 1) * STEP_METER +
	       (cells >> group & 1) * STEP_CELLS;
}

/* The slot of the process that runs now, or NO_SLOT. */
static __always_inline __u32 current_slot(void)
{
	return slot_of(FIELD(bpf_get_current_task(), task_struct, mm));
}

static __always_inline bool is_down(struct root *r, __u32 which)
{
	return r->down >> (which & (GROUPS - 1)) & 1;
}

/* Whether a group is stepped down for a process. */
static __always_inline bool is_shed(__u32 which, __u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	return !r || is_down(r, which);
}

/* A class is stepped down below so much credit: 6, 4, 2, 0 and -4 eighths of a full account. */
static __always_inline __s64 level_of(__s64 class)
{
	return (__s64)(budget_full / EIGHTHS) * (class < STEP_CELLS ? 8 - 2 * class : -4);
}

/* Adds what has accrued since it was done last. Returns the credit. */
static __always_inline __s64 top_up(struct root *r, __u64 now)
{
	__u64 before = exchange(&r->topped_up, now), passed = now > before ? now - before : 0;

	if (passed > LONGEST_WAIT)
		passed = LONGEST_WAIT;
	__s64 gain = passed * budget_share / MILLION, credit = fetch_add(&r->credit, gain) + gain;
	if (credit <= (__s64)budget_full)
		return credit;
	fetch_add(&r->credit, (__s64)budget_full - credit);
	return budget_full;
}

/* How many classes of groups may be stepped down at this credit. */
static __always_inline __u32 classes_below(__s64 credit)
{
	__u32 n = 0;

#pragma clang loop unroll(full)
	for (__u32 class = 1; class < STEP_CLASSES; class ++)
		n += credit < level_of(class);
	return n;
}

/* The credit at which the next look is worth while, when nothing is stepped down at this one. */
static __always_inline __s64 floor_below(__s64 credit, __u32 classes)
{
	return classes + 1 < STEP_CLASSES ? level_of(classes + 1) : credit - (__s64)(budget_full / EIGHTHS);
}

/* An account as it is at the attach. */
static __always_inline void open_account(struct root *r)
{
	r->credit = budget_full;
	r->topped_up = bpf_ktime_get_ns();
	r->halved = r->topped_up;
	r->floor = level_of(STEP_NATIVE);
	r->down = 0;
}

/* Which group to step down. */
struct choice {
	__u64 total; /* spent by all of late */
	__u64 most;
	__u32 root;
	__u32 classes;
	__u32 class;
	__u32 group; /* GROUPS for none */
	__u32 halve;
	__u32 padding;
};

static __always_inline long add_spent(__u32 group, struct choice *c)
{
	struct root *r = bpf_map_lookup_elem(&roots, &c->root);

	if (!r)
		return 1;
	__u64 *spent = &r->spent[group & (GROUPS - 1)], now = *(volatile __u64 *)spent;
	fetch_add(&c->total, now);
	if (c->halve)
		fetch_add(spent, -(now / 2));
	return 0;
}
REPEATED(add_spent, struct choice *)

static __always_inline long choose_group(__u32 group, struct choice *c)
{
	struct root *r = bpf_map_lookup_elem(&roots, &c->root);
	__u32 class = class_of(group);

	if (!r || !class || class > c->classes || is_down(r, group))
		return 0;
	__u64 spent = *(volatile __u64 *)&r->spent[group & (GROUPS - 1)];
	if (!spent || spent < c->total / SIGNIFICANT)
		return 0;
	if (c->group < GROUPS && (class > c->class || (class == c->class && spent <= c->most)))
		return 0;
	c->class = class;
	c->group = group;
	c->most = spent;
	FORGET(c->class);
	FORGET(c->group);
	return 0;
}
REPEATED(choose_group, struct choice *)

/* The credit is down to the floor: is it still, with what has accrued? Returns the group that was stepped down, or
 * GROUPS. */
static __noinline __u32 step_down(__u32 root, __u64 now)
{
	struct root *r = bpf_map_lookup_elem(&roots, &root);
	struct choice c = { .root = root, .group = GROUPS };

	if (!r)
		return GROUPS;
	__s64 credit = top_up(r, now);
	c.classes = classes_below(credit);
	if (now - r->halved > SECOND) {
		r->halved = now;
		c.halve = 1;
	}
	FORGET(c.classes);
	FORGET(c.halve);
	REPEAT(GROUPS, add_spent, &c);
	REPEAT(GROUPS, choose_group, &c);
	r->floor = floor_below(credit, c.classes);
	if (c.group >= GROUPS || __sync_fetch_and_or(&r->down, 1u << c.group) >> c.group & 1)
		return GROUPS;
	r->floor = credit - (__s64)(budget_full / LOOK_AGAIN_AT);
	return c.group;
}

/* The stack is short where this is called: the occasion has a place of its own, which nobody else has until user space
 * puts the group back. */
__attribute__((noinline)) int look_at_credit(__u32 slot)
{
	struct process *p = process_at(slot);

	if (!p)
		return 0;
	__u32 group = step_down(p->root, bpf_ktime_get_ns()), key = p->root * GROUPS + group;
	struct occasion *why = group < GROUPS ? (void *)bpf_map_lookup_elem(&steps, &key) : NULL;
	if (!why)
		return 0;
	why->kind = BOUNDARY_METER_SHED;
	why->slot = slot;
	why->group = group;
	why->inputs = -1;
	draw_boundary(why);
	return 0;
}

/* Takes a price from the account. */
static __always_inline void pay(struct root *r, __u32 slot, __u32 which, __u64 price)
{
	which &= GROUPS - 1;
	price >>= group_shift[which] & 31;
	if (!budget_share || !price)
		return;
	fetch_add(&r->spent[which], price);
	__s64 left = fetch_add(&r->credit, -price) - price;
	if (left < *(volatile __s64 *)&r->floor && !is_down(r, which))
		look_at_credit(slot);
}

/* Counts a hit of a probe group, which is paid at so many eighths of its price. False while the group is stepped down.
 */
static __always_inline bool spend_eighths(__u32 which, __u32 slot, __u32 eighths)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	which &= GROUPS - 1;
	fetch_add(&group_hits[which], 1);
	if (!r)
		return false;
	pay(r, slot, which, (__u64)group_price[which] * eighths / EIGHTHS);
	return !is_down(r, which);
}

static __always_inline bool spend(__u32 which, __u32 slot)
{
	return spend_eighths(which, slot, EIGHTHS);
}

/* The time, where there is a budget that wants to know what something takes. */
static __always_inline __u64 start_watch(void)
{
	return budget_share ? bpf_ktime_get_ns() : 0;
}

/* Pays for what took from that time on. */
static __always_inline void pay_for(__u32 which, __u32 slot, __u64 from)
{
	struct process *p = from ? process_at(slot) : NULL;
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return;
	__u64 took = bpf_ktime_get_ns() - from;
	pay(r, slot, which, took > LONGEST_WALK ? LONGEST_WALK : took);
}

/* A hit that may be made up, at a time that may be: for tests. */
SEC("syscall")
int try_account(struct trial *t)
{
	__u32 root = t->root, which = t->group & (GROUPS - 1);
	struct root *r = bpf_map_lookup_elem(&roots, &root);

	if (!r)
		return 1;
	t->stepped = GROUPS;
	fetch_add(&r->spent[which], t->price);
	__s64 left = fetch_add(&r->credit, -t->price) - t->price;
	if (left < r->floor && !is_down(r, which))
		t->stepped = step_down(root, t->now);
	return 0;
}

#endif
