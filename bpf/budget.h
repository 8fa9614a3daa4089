/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The overhead budget: one account for each root.
 *
 * Credit is the number of nanoseconds that probes may take. It grows with time, at the share that user space sets, up
 * to budget_full, and is full at the attach: credit saved while the program idled or computed may be spent in a burst.
 * Every hit of a probe takes the price of its site, every walk up a stack the time that it took. The site's cookie
 * shows whether the kernel emulates the instruction there or single-steps it, which costs ten times as much.
 *
 * The clock is read each time a sixteenth of a full account was spent: then the credit is topped up for the time that
 * has passed. If it has still fallen since the last look, one group may be stepped down, with a boundary:
 *
 *   below 6/8 of a full account	native frames; stacks of small blocks, some of which become samples
 *	   4/8			lines: the stacks of blocks, tensors, mappings
 *	   2/8			NumPy's small blocks, where they are counted
 *	   0			the meters of arrays, of tensors on the CPU and of Arrow's pools
 *	  -2/8			statements, and the ends of cells
 *	  -4/8			PyTorch's totals on GPUs: the figures that a session on a GPU is run for
 *
 * Lines come first, because a figure without lines is still right. Within a class the group that spent most of late is
 * stepped down. No group pays for another group's storm: a group is left alone if it spent little of late. For lines,
 * little is less than a sixteenth of all that was spent; for figures, less than a quarter of the greatest spender's
 * amount, even if that one is down already; for PyTorch's totals also less than a quarter of a full account, so that
 * they never pay others' debts. While the credit rises, its level does not matter: the group that spent it has stopped,
 * or is out.
 *
 * The cost of a group that is down, until its probes are out, is paid as well, but steps nothing down. An account owes
 * at most the amount of a full one. User space steps up, in the opposite order, when the credit has risen
 * (tracer/internal/budget/budget.go).
 */
#ifndef IPYTRACER_BUDGET_H
#define IPYTRACER_BUDGET_H

#define EIGHTHS	      8
#define SIGNIFICANT   16	       /* lines that spent less than a sixteenth of all are left alone */
#define OWN_STORM     4		       /* figures that spent less than a quarter of the most */
#define LOOK_AGAIN_AT 16	       /* when a sixteenth of a full account more is spent */
#define LONGEST_WALK  100000	       /* ns; any more is time in which the thread did not run */
#define LONGEST_WAIT  1000000000000ull /* ns; every account is full by then */
#define SECOND	      1000000000ull
#define TOLD_PRICE    1500 /* ns: the extra cost of a block with records over one without, its free included */
#define TOLD_RECORDS  700  /* ns: the part of that without the walk up the stack */
#define SMALL_BURST   64
#define SMALL_SHARE   4
#define MILLION	      1000000

/* A struct occasion. That one has a pointer, which has no Go type. */
struct step {
	__u64 words[(sizeof(struct occasion) + 7) / 8];
};

struct MAP(BPF_MAP_TYPE_ARRAY, __u32, struct step, MAX_ROOTS *GROUPS, 0) steps SEC(".maps");

/* The classes of groups, in the order in which they are stepped down. */
enum step_class { STEP_NEVER, STEP_NATIVE, STEP_LINES, STEP_SMALL, STEP_METER, STEP_CELLS, STEP_GPU, STEP_CLASSES };

#define BIT(group) (1u << (group))
#define LINES	   (BIT(GROUP_FRAMES) | BIT(GROUP_TENSORS) | BIT(GROUP_MAPPING) | BIT(GROUP_BLOCKS))

/* Returns a group's step_class. Uses sums and no branches: the verifier would follow each branch. */
static __always_inline __u32 class_of(__u32 group)
{
	const __u32 meters = BIT(GROUP_NUMPY) | BIT(GROUP_TORCH_CPU) | BIT(GROUP_ARROW);
	const __u32 cells = BIT(GROUP_STATEMENT) | BIT(GROUP_RESULT);

	group &= GROUPS - 1;
	return ((BIT(GROUP_NATIVE) | BIT(GROUP_SMALL_STACKS)) >> group & 1) * STEP_NATIVE +
	       (LINES >> group & 1) * STEP_LINES + (BIT(GROUP_SMALL) >> group & 1) * STEP_SMALL +
	       (meters >> group & 1) * STEP_METER + (cells >> group & 1) * STEP_CELLS +
	       (BIT(GROUP_TORCH) >> group & 1) * STEP_GPU;
}

/* Returns the slot of the process that runs now, or NO_SLOT. */
static __always_inline __u32 current_slot(void)
{
	return slot_of(FIELD(bpf_get_current_task(), task_struct, mm));
}

static __always_inline bool is_down(struct root *r, __u32 which)
{
	return r->down >> (which & (GROUPS - 1)) & 1;
}

/* Reports whether a group is stepped down for a process. */
static __always_inline bool is_shed(__u32 which, __u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	return !r || is_down(r, which);
}

/* Returns the credit below which a class is stepped down: 6, 4, 2, 0, -2 and -4 eighths of a full account. */
static __always_inline __s64 level_of(__s64 class)
{
	return (__s64)(budget_full / EIGHTHS) * (8 - 2 * class);
}

/* Returns the credit that has accrued since the last call. */
static __always_inline __s64 accrued(struct root *r, __u64 now)
{
	__u64 before = exchange(&r->topped_up, now), passed = now > before ? now - before : 0;

	if (passed > LONGEST_WAIT)
		passed = LONGEST_WAIT;
	return passed * budget_share / MILLION;
}

/* Adds a gain to the credit. Debts beyond a full account are forgiven first. Returns the credit. */
static __always_inline __s64 top_up(struct root *r, __s64 gain)
{
	__s64 full = budget_full, owed = *(volatile __s64 *)&r->credit;

	if (owed < -full)
		gain += -full - owed;
	__s64 credit = fetch_add(&r->credit, gain) + gain;
	if (credit <= full)
		return credit;
	fetch_add(&r->credit, full - credit);
	return full;
}

/* Returns the number of classes of groups that may be stepped down at this credit. */
static __always_inline __u32 classes_below(__s64 credit)
{
	__u32 n = 0;

#pragma clang loop unroll(full)
	for (__u32 class = 1; class < STEP_CLASSES; class ++)
		n += credit < level_of(class);
	return n;
}

/* Notes a look at this credit, and the credit at which the next one is due. */
static __always_inline void looked_at(struct root *r, __s64 credit)
{
	r->looked = credit;
	r->floor = credit - (__s64)(budget_full / LOOK_AGAIN_AT);
}

/* Sets an account up as it is at the attach. */
static __always_inline void open_account(struct root *r)
{
	r->credit = budget_full;
	r->topped_up = bpf_ktime_get_ns();
	r->halved = r->topped_up;
	looked_at(r, budget_full);
	r->small_credit = budget_full / SMALL_BURST;
	r->small_since = r->topped_up;
	r->down = 0;
}

/* The search for the group to step down. */
struct choice {
	__s64 credit;
	__u64 total;   /* spent by all of late */
	__u64 highest; /* by the group that spent most, of all groups */
	__u64 most;    /* by the chosen group */
	__u32 root;
	__u32 classes;
	__u32 class;
	__u32 group; /* GROUPS for none */
	__u32 halve; /* the number of halvings due */
	__u32 padding;
};

/* Adds the amount that a group spent since the last look to its recent spending. */
static __always_inline long add_spent(__u32 group, struct choice *c)
{
	struct root *r = bpf_map_lookup_elem(&roots, &c->root);

	if (!r)
		return 1;
	group &= GROUPS - 1;
	__u64 late = (r->late[group] >> (c->halve & 63)) + exchange(&r->spent[group], 0);
	r->late[group] = late;
	c->total += late;
	if (late > c->highest)
		c->highest = late;
	FORGET(c->highest);
	return 0;
}
REPEATED(add_spent, struct choice *)

static __always_inline long choose_group(__u32 group, struct choice *c)
{
	struct root *r = bpf_map_lookup_elem(&roots, &c->root);
	__u32 class = class_of(group);

	if (!r || !class || class > c->classes || is_down(r, group))
		return 0;
	__u64 spent = r->late[group & (GROUPS - 1)];
	if (!spent || spent < (class <= STEP_SMALL ? c->total / SIGNIFICANT : c->highest / OWN_STORM))
		return 0;
	if (class == STEP_GPU && spent < budget_full / OWN_STORM)
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

/* Handles a credit that is down to the floor. Returns the group that was stepped down, or GROUPS. */
static __noinline __u32 step_down(__u32 root, __u64 now)
{
	struct root *r = bpf_map_lookup_elem(&roots, &root);
	struct choice c = { .root = root, .group = GROUPS };

	if (!r || exchange(&r->looking, 1)) /* one CPU at a time */
		return GROUPS;
	__u64 passed = now > r->halved ? (now - r->halved) / SECOND : 0;
	if (passed)
		r->halved = now;
	c.halve = passed < 63 ? passed : 63;
	__s64 gain = accrued(r, now), spent = r->looked - *(volatile __s64 *)&r->credit;
	c.credit = top_up(r, gain);
	FORGET(c.halve);
	FORGET(c.credit);
	c.classes = spent > gain ? classes_below(c.credit) : 0;
	FORGET(c.classes);
	REPEAT(GROUPS, add_spent, &c);
	REPEAT(GROUPS, choose_group, &c);
	looked_at(r, c.credit);
	exchange(&r->looking, 0);
	if (c.group >= GROUPS || __sync_fetch_and_or(&r->down, 1u << c.group) >> c.group & 1)
		return GROUPS;
	return c.group;
}

/*
 * Looks at an account that is below the floor. Little stack is left where this is called. So the occasion has a place
 * of its own, which nothing else uses until user space puts the group back.
 */
__attribute__((noinline)) int look_at_credit(__u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r || !exchange(&r->due, 0)) /* another CPU has */
		return 0;
	__u32 group = step_down(p->root, bpf_ktime_get_ns()), key = p->root * GROUPS + group;
	struct occasion *why = group < GROUPS ? (void *)bpf_map_lookup_elem(&steps, &key) : NULL;
	if (!why)
		return 0;
	why->kind = BOUNDARY_METER_SHED;
	why->slot = slot;
	why->group = group;
	why->inputs = -1;
	if (!draw_boundary(why)) /* user space gets no record, and would not put the group back */
		__sync_fetch_and_and(&r->down, ~(1u << (group & (GROUPS - 1))));
	return 0;
}

/* Does the same as a program, for the programs at uprobes: see calls.h. */
SEC("uprobe")
int settle_account(struct pt_regs *regs)
{
	__u32 slot = current_slot();

	return slot == NO_SLOT ? 0 : look_at_credit(slot);
}

/* Reports whether a look at an account is due. */
static __always_inline bool is_due(struct root *r)
{
	return *(volatile __u32 *)&r->due;
}

/* Takes a price from the account. */
static __always_inline void pay(struct root *r, __u32 which, __u64 price)
{
	which &= GROUPS - 1;
	price >>= group_shift[which] & 31;
	if (!budget_share || !price)
		return;
	fetch_add(&r->spent[which], price);
	__s64 left = fetch_add(&r->credit, -price) - price;
	if (left < *(volatile __s64 *)&r->floor && !is_down(r, which))
		*(volatile __u32 *)&r->due = 1;
}

/*
 * Counts a hit of a probe group at a site with this cookie, and pays a number of eighths of its price. Looks at the
 * account where that is due, unless ctx is NULL: then the next hit does. Returns false while the group is stepped down.
 */
static __always_inline bool spend_eighths(void *ctx, __u32 which, __u32 slot, __u64 cookie, __u32 eighths)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	which &= GROUPS - 1;
	fetch_add(&group_hits[which], 1);
	if (!r)
		return false;
	pay(r, which, (__u64)hit_price[which * SITE_KINDS + (cookie >> SITE_STEPPED)] * eighths / EIGHTHS);
	if (ctx && is_due(r))
		call(ctx, SETTLE_ACCOUNT);
	return !is_down(r, which);
}

static __always_inline bool spend(void *ctx, __u32 which, __u32 slot, __u64 cookie)
{
	return spend_eighths(ctx, which, slot, cookie, EIGHTHS);
}

/* Returns the time, if there is a budget that needs to measure a duration; else 0. */
static __always_inline __u64 start_watch(void)
{
	return budget_share ? bpf_ktime_get_ns() : 0;
}

/* Pays for the time since `from`. The next hit looks at the account, if that is due. */
static __always_inline void pay_for(__u32 which, __u32 slot, __u64 from)
{
	struct process *p = from ? process_at(slot) : NULL;
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return;
	__u64 took = bpf_ktime_get_ns() - from;
	pay(r, which, took > LONGEST_WALK ? LONGEST_WALK : took);
}

/* Pays for an invented hit, at an invented time: for tests. */
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
