package deaths

import (
	"fmt"
	"slices"
	"time"
)

// owner is the person to whom reports belong: a user inside a boundary. Nobody else ever gets them.
type owner struct {
	uid   uint32
	place string
}

func (r *Report) owner() owner { return owner{r.UID, r.Place} }

// account returns what a report is charged to. A report of an agent that did not know the account is charged to its
// owner.
func (r *Report) account() string {
	if r.Account != "" {
		return r.Account
	}
	return fmt.Sprintf("%d in %s", r.UID, r.Place)
}

// origin is a notebook of an owner. Its names can be forged by the owner, who then gets own reports, and no others.
type origin struct {
	owner
	notebook, kernelID string
}

func (r *Report) origin() origin { return origin{r.owner(), r.Notebook, r.KernelID} }

// same reports whether both are the same notebook of the same owner. A name that is not known equals no other.
func (o origin) same(other origin) bool {
	return o.owner == other.owner && o.place != "" &&
		(o.notebook != "" && o.notebook == other.notebook || o.kernelID != "" && o.kernelID == other.kernelID)
}

// shelf has the reports that are kept, the oldest first.
type shelf struct{ reports []*Report }

// add puts a report in its place.
func (s *shelf) add(r *Report) {
	at, _ := slices.BinarySearchFunc(s.reports, r, func(a, b *Report) int {
		if a.At.After(b.At) {
			return 1
		}
		return -1
	})
	s.reports = slices.Insert(s.reports, at, r)
}

// addLatest puts the report of a kernel that has just ended behind all others. If the clock was set back meanwhile,
// earlier reports have later times. They get the time of the new report, so that the order stays right.
func (s *shelf) addLatest(r *Report) {
	for i, before := range s.reports {
		if before.At.After(r.At) {
			one := *before
			one.At = r.At
			s.reports[i] = &one
		}
	}
	s.add(r)
}

// bound drops the reports that are too old, the oldest of accounts with too many, and then, until there is room, the
// oldest of the account with most. dropped is how many there was no room for.
func (s *shelf) bound(c *Config, now time.Time) (dropped int) {
	old := now.Add(-c.Keep)
	s.reports = slices.DeleteFunc(s.reports, func(r *Report) bool { return r.At.Before(old) })
	young := len(s.reports)
	of := map[string]int{}
	for _, r := range s.reports {
		of[r.account()]++
	}
	s.reports = slices.DeleteFunc(s.reports, func(r *Report) bool {
		over := of[r.account()] > c.PerUser
		if over {
			of[r.account()]--
		}
		return over
	})
	for len(s.reports) > c.InAll {
		at, most := 0, 0
		for i, r := range s.reports {
			if n := of[r.account()]; n > most {
				at, most = i, n
			}
		}
		of[s.reports[at].account()]--
		s.reports = slices.Delete(s.reports, at, at+1)
	}
	return young - len(s.reports)
}

// last returns the report of the last kernel of a notebook, nil if there is none or it was shown.
func (s *shelf) last(o origin) *Report {
	for _, r := range slices.Backward(s.reports) {
		if r.origin().same(o) {
			if r.Shown {
				return nil
			}
			return r
		}
	}
	return nil
}

// passed marks all reports of a notebook: its last kernel ended well. It reports whether there were some.
func (s *shelf) passed(o origin) (changed bool) {
	for i, r := range s.reports {
		if !r.Shown && r.origin().same(o) {
			s.mark(i, true)
			changed = true
		}
	}
	return changed
}

// mark replaces a report by a copy with another mark: somebody may be reading the report itself.
func (s *shelf) mark(i int, shown bool) {
	one := *s.reports[i]
	one.Shown = shown
	s.reports[i] = &one
}

// markID marks the report with an id.
func (s *shelf) markID(id string, shown bool) {
	if i := slices.IndexFunc(s.reports, func(r *Report) bool { return r.ID == id }); i >= 0 {
		s.mark(i, shown)
	}
}

// of returns the reports that somebody may read, the oldest first: an owner's, or all of them.
func (s *shelf) of(who owner, all bool) (out []*Report) {
	for _, r := range s.reports {
		if all || who.place != "" && r.owner() == who {
			out = append(out, r)
		}
	}
	return out
}
