package inventory

import (
	"cmp"
	"slices"
	"time"

	"ipytracer/internal/host/process"
)

// Candidate is a process that may be a kernel.
type Candidate struct {
	process.Identity
	Holder Holder
}

// Holder is charged for the time of looks at a process: a user, within a group that has users of its own, such as a
// container, or "".
type Holder struct {
	UID   uint32
	Group string
}

const (
	// refill is a holder's share of a core, once its processes have taken what they may take at once.
	refill = 20
	// waitShare is how much of the time that a look at a process takes counts, beside its processor time.
	waitShare = 20
	// maxHolders is the most holders that are remembered without a process that waits.
	maxHolders = 4096
	// maxWaiting is the most processes of a holder that wait: the oldest makes room.
	maxWaiting = 1024
	// probation is how long a holder with a process that took too long does not get the last free workers.
	probation = 10 * time.Minute
)

// turns decides which process is looked at next: one of the holder whose processes have taken least time, the newest
// first. One process of a holder is looked at at a time.
type turns struct {
	bounds
	waiting map[Holder][]Candidate // the newest last
	busy    map[Holder]bool
	spent   map[Holder]spending
}

// spending is the time that looks at a holder's processes have taken.
type spending struct {
	debt time.Duration // at that time; it shrinks
	at   time.Time
	slow time.Time // when one last took too long
	cuts int       // how many have
}

// bounds are what looks may take.
type bounds struct {
	burst time.Duration // processor time that a holder's processes may take at once
	wait  time.Duration // as [look.Limits] has it
	cuts  int           // looks at a holder's processes that take too long, before no other is looked at; 0: any number
}

var (
	lasting = bounds{burst: 2 * time.Second, wait: 10 * time.Second}
	// ofList is for somebody who waits for a list of all processes.
	ofList = bounds{burst: time.Second, wait: 2 * time.Second, cuts: 2}
)

func newTurns(b bounds) *turns {
	return &turns{b, map[Holder][]Candidate{}, map[Holder]bool{}, map[Holder]spending{}}
}

// debt returns what a holder has left to make up for.
func (t *turns) debt(of Holder, now time.Time) time.Duration {
	s := t.spent[of]
	return max(0, s.debt-now.Sub(s.at)/refill)
}

// add makes a process wait for its turn. If too many processes wait, add leaves one out and returns it.
func (t *turns) add(c Candidate) (left Candidate, is bool) {
	all := t.waiting[c.Holder]
	at, there := slices.BinarySearchFunc(all, c, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.StartTicks, b.StartTicks), cmp.Compare(a.PID, b.PID))
	})
	if !there {
		all = slices.Insert(all, at, c)
	}
	if is = len(all) > maxWaiting; is {
		left, all = all[0], all[1:]
	}
	t.waiting[c.Holder] = all
	return left, is
}

// next removes the process whose turn it is. Where it is no process's turn yet, at is when it will be; at is zero if
// each process that waits, waits for another process of its holder. trusted: no holder on probation has a turn.
func (t *turns) next(now time.Time, trusted bool) (c Candidate, ok bool, at time.Time) {
	var best Holder
	var least time.Duration
	for h, all := range t.waiting {
		if t.busy[h] || trusted && now.Sub(t.spent[h].slow) < probation {
			continue
		}
		debt := t.debt(h, now)
		if t.cuts > 0 && t.spent[h].cuts >= t.cuts {
			continue
		}
		if debt >= t.burst {
			if due := now.Add((debt - t.burst + time.Millisecond) * refill); at.IsZero() || due.Before(at) {
				at = due
			}
			continue
		}
		newest := all[len(all)-1].StartTicks
		if !ok || debt < least || debt == least && newest > c.StartTicks {
			c, ok, best, least = all[len(all)-1], true, h, debt
		}
	}
	if !ok {
		return c, false, at
	}
	t.busy[best] = true
	if t.waiting[best] = t.waiting[best][:len(t.waiting[best])-1]; len(t.waiting[best]) == 0 {
		delete(t.waiting, best)
	}
	return c, true, at
}

// done counts the time that a look took.
func (t *turns) done(of Holder, took time.Duration, slow bool, now time.Time) {
	delete(t.busy, of)
	s := t.spent[of]
	s.debt, s.at = t.debt(of, now)+took, now
	if slow {
		s.slow = now
		s.cuts++
	}
	t.spent[of] = s
	if len(t.spent) <= maxHolders {
		return
	}
	for h, s := range t.spent {
		if t.debt(h, now) == 0 && now.Sub(s.slow) >= probation || len(t.spent) > 2*maxHolders {
			delete(t.spent, h)
		}
	}
}
