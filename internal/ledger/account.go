package ledger

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"golang.org/x/sys/unix"
)

// Account has the time that a root's probes may still cost, see bpf/budget.h.
type Account struct {
	// Credit includes the time that has accrued so far. It is negative if the probes used more, but never below −Full.
	Credit time.Duration
	Full   time.Duration // the upper bound of Credit
}

// siteKinds is the number of kinds of sites, see enum site of bpf/wire_meters.h.
const siteKinds = int(kernelSiteSITE_KINDS)

// Accounts has the roots' accounts, with the costs of the probes' hits.
type Accounts struct {
	objects    *kernelObjects
	operations *operations
	probes     *Probes // for measuring the cost of a hit
	prices     prices
}

// SetBudget opens accounts for the roots that are attached from now on. An account gains share (a fraction, such as
// 0.03) of the elapsed time, up to full. Without a call of SetBudget there is no limit.
func (a *Accounts) SetBudget(share float64, full time.Duration) error {
	a.prices.share, a.prices.full = uint64(share*1e6), uint64(full)
	err := errors.Join(a.objects.BudgetShare.Set(a.prices.share), a.objects.BudgetFull.Set(a.prices.full))
	if err != nil {
		return fmt.Errorf("write the budget: %w", err)
	}
	return nil
}

// SetPrice sets the cost of one hit of a group's probes, for each kind of site. The price contains the usual work of
// the probes' programs, but no walks up a stack: the kernel half measures these. What the group spends is its cost
// divided by discount, which must be a power of two.
func (a *Accounts) SetPrice(g Group, price Costs, discount uint) error {
	isPowerOfTwo := bits.OnesCount(discount) == 1
	if g >= GroupCount || !isPowerOfTwo {
		return fmt.Errorf("set the price of group %d: discount %d must be a power of two", g, discount)
	}
	emulated := int(g) * siteKinds
	stepped := emulated + 1
	a.prices.hit[emulated], a.prices.hit[stepped] = uint32(price.Emulated), uint32(price.Stepped)
	a.prices.shift[g] = uint32(bits.Len(discount) - 1) // the discount's logarithm
	if err := errors.Join(a.objects.HitPrice.Set(a.prices.hit), a.objects.GroupShift.Set(a.prices.shift)); err != nil {
		return fmt.Errorf("write the prices: %w", err)
	}
	return nil
}

// Account reads the account of a root.
func (a *Accounts) Account(root uint32) (Account, error) {
	r, err := a.root(root)
	if err != nil {
		return Account{}, err
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return Account{}, fmt.Errorf("read the clock: %w", err)
	}
	return a.prices.account(&r, uint64(now.Nano())), nil
}

func (a *Accounts) root(root uint32) (r kernelRoot, err error) {
	if err := a.objects.Roots.Lookup(root, &r); err != nil {
		return r, fmt.Errorf("read root %d: %w", root, err)
	}
	return r, nil
}

// Back ends the pause of a group for the root to which the process pid belongs, and draws a MeterBack boundary.
func (a *Accounts) Back(g Group, pid int) error {
	_, err := a.operations.run(kernelOperationOP_BACK, pid, kernelControl{Group: uint32(g)})
	return err
}

// Late draws a MeterBack boundary for pid, because the group's probes may have missed events before they were placed.
// The meter keeps its value.
func (a *Accounts) Late(g Group, pid int) error {
	_, err := a.operations.run(kernelOperationOP_LATE, pid, kernelControl{Group: uint32(g)})
	return err
}

// prices are written only by user space.
type prices struct {
	share uint64                                     // of the elapsed time, in millionths
	full  uint64                                     // in nanoseconds
	hit   [int(kernelGroupGROUPS) * siteKinds]uint32 // nanoseconds, of each group and kind of site
	shift [kernelGroupGROUPS]uint32                  // a group spends its cost >> shift
}

// gain returns the credit that accrues in a time, by the same rule as top_up in bpf/budget.h.
func (p *prices) gain(passed uint64) int64 { return int64(min(passed, 1e12) * p.share / 1e6) }

func (p *prices) account(r *kernelRoot, now uint64) Account {
	credit := max(r.Credit, -int64(p.full))
	if now > r.ToppedUp {
		credit += p.gain(now - r.ToppedUp)
	}
	return Account{Credit: time.Duration(min(credit, int64(p.full))), Full: time.Duration(p.full)}
}

// Hits returns how many times each group's probes fired in traced processes.
func (a *Accounts) Hits() (hits [GroupCount]uint64) {
	var counts [kernelGroupGROUPS]uint64
	_ = a.objects.GroupHits.Get(&counts) // a copy out of mapped memory: cannot fail for the right type
	copy(hits[:], counts[:])
	return hits
}
