package deaths

import (
	"fmt"
	"slices"
	"time"
)

// owner is the person to whom reports belong: a user inside a boundary. Nobody else gets them, but the machine's root.
type owner struct {
	uid   uint32
	place string
}

func (r *Report) owner() owner { return owner{r.UID, r.Place} }

// account returns who a report counts for. A report of an agent version without accounts counts for its owner.
func (r *Report) account() string {
	if r.Account != "" {
		return r.Account
	}
	return fmt.Sprintf("%d in %s", r.UID, r.Place)
}

// origin is a notebook of an owner. The owner can forge its names, but gets only own reports by that.
type origin struct {
	owner
	notebook, kernelID string
}

func (r *Report) origin() origin { return origin{r.owner(), r.Notebook, r.KernelID} }

// isSameNotebook reports whether both are of one known owner and have the same path or the same kernel ID.
func (o origin) isSameNotebook(other origin) bool {
	if o.owner != other.owner || o.place == "" {
		return false
	}
	samePath := o.notebook != "" && o.notebook == other.notebook
	sameKernel := o.kernelID != "" && o.kernelID == other.kernelID
	return samePath || sameKernel
}

// shelf has the reports that are kept, the oldest first.
type shelf struct{ reports []*Report }

// add inserts a report by its time.
func (s *shelf) add(r *Report) {
	at, _ := slices.BinarySearchFunc(s.reports, r, func(a, b *Report) int {
		if a.At.After(b.At) {
			return 1
		}
		return -1
	})
	s.reports = slices.Insert(s.reports, at, r)
}

// addLatest adds the report of a kernel that has just ended behind all others. Earlier reports with a later time,
// because the clock was set back, get the new report's time.
func (s *shelf) addLatest(r *Report) {
	for i, before := range s.reports {
		if before.At.After(r.At) {
			copied := *before
			copied.At = r.At
			s.reports[i] = &copied
		}
	}
	s.add(r)
}

// dropSurplus drops the reports that are too old, then the oldest of accounts with too many, and then, while there are
// too many in all, the oldest of the account with most. dropped is how many it dropped that were not too old.
func (s *shelf) dropSurplus(c *Config, now time.Time) (dropped int) {
	oldest := now.Add(-c.Keep)
	s.reports = slices.DeleteFunc(s.reports, func(r *Report) bool { return r.At.Before(oldest) })
	before := len(s.reports)
	counts := map[string]int{} // by account
	for _, r := range s.reports {
		counts[r.account()]++
	}
	s.reports = slices.DeleteFunc(s.reports, func(r *Report) bool {
		tooMany := counts[r.account()] > c.PerUser
		if tooMany {
			counts[r.account()]--
		}
		return tooMany
	})
	for len(s.reports) > c.InAll {
		at, most := 0, 0
		for i, r := range s.reports {
			if n := counts[r.account()]; n > most {
				at, most = i, n
			}
		}
		counts[s.reports[at].account()]--
		s.reports = slices.Delete(s.reports, at, at+1)
	}
	return before - len(s.reports)
}

// owed returns the latest report of a notebook, nil if there is none or it was shown.
func (s *shelf) owed(o origin) *Report {
	for _, r := range slices.Backward(s.reports) {
		if r.origin().isSameNotebook(o) {
			if r.Shown {
				return nil
			}
			return r
		}
	}
	return nil
}

// markAll marks all reports of a notebook as shown. It reports whether any was not.
func (s *shelf) markAll(o origin) (changed bool) {
	for i, r := range s.reports {
		if !r.Shown && r.origin().isSameNotebook(o) {
			s.mark(i, true)
			changed = true
		}
	}
	return changed
}

// mark sets Shown in a copy of a report, and puts the copy in its place: another goroutine may be reading the report.
func (s *shelf) mark(i int, shown bool) {
	copied := *s.reports[i]
	copied.Shown = shown
	s.reports[i] = &copied
}

// markID is [shelf.mark] for the report with an ID, if it is still there.
func (s *shelf) markID(id string, shown bool) {
	if i := slices.IndexFunc(s.reports, func(r *Report) bool { return r.ID == id }); i >= 0 {
		s.mark(i, shown)
	}
}

// readable returns the reports of an owner, or all reports, the oldest first.
func (s *shelf) readable(reader owner, all bool) (reports []*Report) {
	for _, r := range s.reports {
		isOwn := reader.place != "" && r.owner() == reader
		if all || isOwn {
			reports = append(reports, r)
		}
	}
	return reports
}
