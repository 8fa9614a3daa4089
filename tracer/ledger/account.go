package ledger

import (
	"errors"
	"fmt"
	"math/bits"
	"time"

	"golang.org/x/sys/unix"
)

// Account is what a root's probes may still cost, see bpf/budget.h.
type Account struct {
	Credit time.Duration // with what has accrued by now; below 0 when they took more than there was, but no more than Full below
	Full   time.Duration // the most it can be
}

// siteKinds is of how many kinds sites are, see enum site of bpf/wire_meters.h.
const siteKinds = int(kernelSiteSITE_KINDS)

// SetBudget opens the accounts of the roots that are attached from now on: they gain share, a part of the time, up to full.
// Without it there is no limit.
func (l *Ledger) SetBudget(share float64, full time.Duration) error {
	l.prices.share, l.prices.full = uint64(share*1e6), uint64(full)
	err := errors.Join(l.objects.BudgetShare.Set(l.prices.share), l.objects.BudgetFull.Set(l.prices.full))
	if err != nil {
		return fmt.Errorf("write the budget: %w", err)
	}
	return nil
}

// SetPrice says what one hit of a group's probes costs with what their programs usually do, at a site of each kind, and beyond walks
// up a stack: those are measured. discount is a power of two: what the group spends counts for so much less.
func (l *Ledger) SetPrice(g Group, price Costs, discount uint) error {
	if g >= GroupCount || bits.OnesCount(discount) != 1 {
		return fmt.Errorf("price of group %d: a discount of %d", g, discount)
	}
	at := int(g) * siteKinds
	l.prices.hit[at], l.prices.hit[at+1] = uint32(price.Emulated), uint32(price.Stepped)
	l.prices.shift[g] = uint32(bits.Len(discount) - 1)
	if err := errors.Join(l.objects.HitPrice.Set(l.prices.hit), l.objects.GroupShift.Set(l.prices.shift)); err != nil {
		return fmt.Errorf("write the prices: %w", err)
	}
	return nil
}

// Account reads the account of a root.
func (l *Ledger) Account(root uint32) (Account, error) {
	r, err := l.root(root)
	if err != nil {
		return Account{}, err
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return Account{}, fmt.Errorf("read the clock: %w", err)
	}
	return l.prices.account(&r, uint64(now.Nano())), nil
}

func (l *Ledger) root(root uint32) (r kernelRoot, err error) {
	if err := l.objects.Roots.Lookup(root, &r); err != nil {
		return r, fmt.Errorf("read root %d: %w", root, err)
	}
	return r, nil
}

// Back ends the stepping down of a group for a whole root, of which pid is a process, and draws a MeterBack boundary.
func (l *Ledger) Back(g Group, pid int) error {
	_, err := l.control(kernelControl{Operation: uint32(kernelOperationOP_BACK), Pid: int32(pid), Group: uint32(g)})
	return err
}

// Late draws a MeterBack boundary for pid: its group's probes came after what they are to see had begun. What the meter has
// counted stays.
func (l *Ledger) Late(g Group, pid int) error {
	_, err := l.control(kernelControl{Operation: uint32(kernelOperationOP_LATE), Pid: int32(pid), Group: uint32(g)})
	return err
}

// prices is what user space alone writes about the budget.
type prices struct {
	share, full uint64
	hit         [int(kernelGroupGROUPS) * siteKinds]uint32
	shift       [kernelGroupGROUPS]uint32
}

// gain is what accrues in a time, as top_up in bpf/budget.h has it.
func (p *prices) gain(passed uint64) int64 { return int64(min(passed, 1e12) * p.share / 1e6) }

func (p *prices) account(r *kernelRoot, now uint64) Account {
	credit := max(r.Credit, -int64(p.full))
	if now > r.ToppedUp {
		credit += p.gain(now - r.ToppedUp)
	}
	return Account{Credit: time.Duration(min(credit, int64(p.full))), Full: time.Duration(p.full)}
}

// Hits returns how often each group's probes fired in traced processes.
func (l *Ledger) Hits() (hits [GroupCount]uint64) {
	var all [kernelGroupGROUPS]uint64
	_ = l.objects.GroupHits.Get(&all) // a copy out of mapped memory: cannot fail for the right type
	copy(hits[:], all[:])
	return hits
}
