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

// Holder is who is charged for the time of looks at a process: a user, in a group that has users of its own, such as a
// container. Group is "" for users of the machine.
type Holder struct {
	UID   uint32
	Group string
}

const (
	// refill is the reciprocal of a holder's share of a core, once its looks have taken bounds.burst.
	refill = 20
	// waitShare is the reciprocal of the share of a look's duration that is charged, besides its processor time.
	waitShare = 20
	// maxHolders is the number of holders above which those without debt are forgotten.
	maxHolders = 4096
	// maxWaiting is the most processes of a holder that wait. A further one takes the place of the oldest.
	maxWaiting = 1024
	// probation is how long a holder with a look that took too long does not get the last free workers.
	probation = 10 * time.Minute
)

// turns decides which process gets the next look: the newest process of the holder with the least debt. A holder has
// one look at a time.
type turns struct {
	bounds
	waiting map[Holder][]Candidate // the newest last
	busy    map[Holder]bool        // holders with a look under way
	spent   map[Holder]spending
}

// spending is the time that a holder's looks have taken.
type spending struct {
	debt     time.Duration // at the time updated; it shrinks
	updated  time.Time
	lastSlow time.Time // when a look last took too long
	cuts     int       // how many looks took too long
}

// bounds are bounds on looks.
type bounds struct {
	burst time.Duration // processor time that a holder's looks may take at once
	wait  time.Duration // as [LookLimits] has it
	cuts  int           // a holder with so many looks that took too long gets no more; 0: no bound
}

var (
	forAgent = bounds{burst: 2 * time.Second, wait: 10 * time.Second}
	// forList is for a user who waits for a list of all processes.
	forList = bounds{burst: time.Second, wait: 2 * time.Second, cuts: 2}
)

func newTurns(b bounds) *turns {
	return &turns{b, map[Holder][]Candidate{}, map[Holder]bool{}, map[Holder]spending{}}
}

// debt returns what a holder's looks have taken, less what has been refilled since.
func (t *turns) debt(holder Holder, now time.Time) time.Duration {
	s := t.spent[holder]
	return max(0, s.debt-now.Sub(s.updated)/refill)
}

// add makes a process wait for its turn. If too many processes of its holder wait, it drops one and returns it.
func (t *turns) add(c Candidate) (dropped Candidate, ok bool) {
	waiting := t.waiting[c.Holder]
	at, listed := slices.BinarySearchFunc(waiting, c, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.StartTicks, b.StartTicks), cmp.Compare(a.PID, b.PID))
	})
	if !listed {
		waiting = slices.Insert(waiting, at, c)
	}
	isFull := len(waiting) > maxWaiting
	if isFull {
		dropped, waiting = waiting[0], waiting[1:]
	}
	t.waiting[c.Holder] = waiting
	return dropped, isFull
}

// next removes and returns the process whose turn it is. ok is false if it is no process's turn now: due is the time of
// the next turn, zero if each holder is busy or gets no more looks. trustedOnly excludes holders on probation.
func (t *turns) next(now time.Time, trustedOnly bool) (c Candidate, ok bool, due time.Time) {
	var best Holder
	var leastDebt time.Duration
	for h, waiting := range t.waiting {
		onProbation := now.Sub(t.spent[h].lastSlow) < probation
		isCut := t.cuts > 0 && t.spent[h].cuts >= t.cuts
		if t.busy[h] || trustedOnly && onProbation || isCut {
			continue
		}
		debt := t.debt(h, now)
		if debt >= t.burst {
			if refilled := now.Add((debt - t.burst + time.Millisecond) * refill); due.IsZero() || refilled.Before(due) {
				due = refilled
			}
			continue
		}
		newest := waiting[len(waiting)-1]
		if !ok || debt < leastDebt || debt == leastDebt && newest.StartTicks > c.StartTicks {
			c, ok, best, leastDebt = newest, true, h, debt
		}
	}
	if !ok {
		return c, false, due
	}
	t.busy[best] = true
	if t.waiting[best] = t.waiting[best][:len(t.waiting[best])-1]; len(t.waiting[best]) == 0 {
		delete(t.waiting, best)
	}
	return c, true, due
}

// done charges a holder for the time of a look that has ended.
func (t *turns) done(holder Holder, took time.Duration, slow bool, now time.Time) {
	delete(t.busy, holder)
	s := t.spent[holder]
	s.debt, s.updated = t.debt(holder, now)+took, now
	if slow {
		s.lastSlow = now
		s.cuts++
	}
	t.spent[holder] = s
	if len(t.spent) <= maxHolders {
		return
	}
	for h, s := range t.spent {
		isSettled := t.debt(h, now) == 0 && now.Sub(s.lastSlow) >= probation
		if isSettled || len(t.spent) > 2*maxHolders {
			delete(t.spent, h)
		}
	}
}
