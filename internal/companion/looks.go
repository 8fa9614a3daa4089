package companion

import (
	"cmp"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/model"
)

// Looker looks into traced processes from outside, beside the session, one at a time: it reads their objects while they
// run on. The findings always come as an [event.Looked].
type Looker interface {
	// FindVariables and FindHolders begin a look into a process. false: one is under way. The look for variables also
	// reports which of some objects are there still.
	FindVariables(pid int, watch []event.Piece) bool
	FindHolders(pid int) bool
	// ToFree returns code to type that frees the findings of a look by name, and the largest objects that go with each.
	ToFree(*event.Looked) ([]model.Freeing, [][]event.Piece)
	// Named returns the findings of a look by name, Audited the memory that stays behind in a process, given the
	// holders.
	Named(*event.Variables) ([]model.Variable, model.Names)
	Audited(pid int, found []*event.Holders) *model.Audit
	// Advised reads the session so far, given the variables of a process, and returns the function that makes advice
	// of it, as text. That one takes longer, and runs while the session goes on.
	Advised(pid int, found *event.Variables) func() string
	// WhyNoAudit returns the reason in a sentence why nothing can be audited, "" where it can.
	WhyNoAudit() string
}

// Bounds of looks, of a whole session: a notebook that asks without end has its turn after the others, and all of them
// together take a bounded share of a processor's time.
const (
	lookShare   = 10               // the reciprocal of the share that they may take in the long run
	lookBurst   = 20 * time.Second // how much they may take besides
	maxWaiting  = 64               // wishes
	maxAnswered = 8                // answers that are kept until they are fetched
)

// wish is a look that was asked for.
type wish struct {
	pid    int
	kind   kindOfLook
	number int64
}

// kindOfLook is the purpose of a look.
type kindOfLook string

const (
	lookVars   kindOfLook = "vars"
	lookAudit  kindOfLook = "audit"
	lookAdvise kindOfLook = "advise"
	lookCheck  kindOfLook = "check" // whether the objects that should be freed have gone
)

// looks are those of a session. Their methods are for one goroutine.
type looks struct {
	looker   Looker
	now      func() time.Time
	number   int64
	waiting  []wish // at most one of each process and kind
	underway *wish
	gone     bool          // the process of the one under way has ended
	written  chan answered // gets the answer of the one under way, once its text is written; nil for other kinds
	answers  []answered

	watched func(pid int) []event.Piece // the objects that a check is about

	left time.Duration // the time that looks may still take
	at   time.Time     // when that was so
}

// answered has the findings of a look.
type answered struct {
	wish
	took   time.Duration // the look itself
	wrote  time.Duration // its text
	why    string
	listed []model.Variable
	names  *model.Names
	audit  *model.Audit
	advice string
	free   []model.Freeing
	check  []model.Checked
}

// Look has the hub ask a looker from now on.
func (h *Hub) Look(l Looker) { h.looks.looker = l }

// HasLine reports whether any process has a line. It may be called from any goroutine.
func (h *Hub) HasLine() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.lines) > 0
}

// Looked takes in the findings of a look.
func (h *Hub) Looked(e *event.Looked) {
	l := &h.looks
	w := l.underway
	if w == nil || w.pid != int(e.PID) {
		return
	}
	began := l.now()
	if w.kind == lookAdvise && e.Variables != nil && !l.gone && l.written == nil {
		l.write(answered{wish: *w, why: e.Why, took: time.Duration(e.Took)}, l.looker.Advised(w.pid, e.Variables))
		l.take(time.Duration(e.Cost) + l.now().Sub(began))
		return
	}
	l.underway = nil
	if !l.gone {
		one := answered{wish: *w, why: e.Why}
		switch {
		case w.kind == lookAudit && len(e.Holders) > 0:
			one.audit = l.looker.Audited(w.pid, e.Holders)
		case w.kind != lookAudit && e.Variables != nil:
			all, names := l.looker.Named(e.Variables)
			slices.SortStableFunc(all, func(x, y model.Variable) int {
				return cmp.Or(cmp.Compare(y.Size(), x.Size()), cmp.Compare(y.Bytes+y.Device, x.Bytes+x.Device))
			})
			if rest := len(all) - maxListed; rest > 0 {
				all, names.Unlisted = all[:maxListed], names.Unlisted+int64(rest)
			}
			one.listed, one.names = all, &names
		}
		if e.Variables != nil {
			if w.kind == lookCheck {
				one.check = h.promises.check(w.pid, e)
			}
			free, pieces := l.looker.ToFree(e)
			one.free = free
			h.promises.keep(w.pid, free, pieces, e.Variables.Memory)
		}
		if one.names == nil && one.audit == nil && one.why == "" {
			one.why = "its objects could not be looked at"
		}
		one.took = time.Duration(e.Took)
		l.keep(one)
	}
	l.take(time.Duration(e.Cost) + l.now().Sub(began)) // not its time on a machine with more to do
}

// write writes the text of an answer on a goroutine of its own. The look stays under way until [looks.collect] takes
// the answer, so one text is written at a time.
func (l *looks) write(one answered, advise func() string) {
	written := make(chan answered, 1)
	l.written = written
	go func() {
		began := time.Now()
		one.advice = advise()
		one.wrote = time.Since(began)
		written <- one
	}()
}

// collect takes in an answer that has been written meanwhile.
func (l *looks) collect() {
	select {
	case one := <-l.written:
		l.take(one.wrote)
		if l.written = nil; !l.gone {
			l.keep(one)
		}
		l.underway = nil
	default:
	}
}

// keep keeps an answer in the place of the one before, or of the oldest.
func (l *looks) keep(one answered) {
	l.answers = slices.DeleteFunc(l.answers, func(a answered) bool { return a.pid == one.pid && a.kind == one.kind })
	l.answers = append(l.answers, one)
	l.answers = slices.Delete(l.answers, 0, max(0, len(l.answers)-maxAnswered))
}

// take takes time from the looks' allowance.
func (l *looks) take(d time.Duration) {
	l.refill()
	l.left -= d
}

func (l *looks) refill() {
	now := l.now()
	if l.at.IsZero() {
		l.left = lookBurst
	} else {
		l.left = min(l.left+now.Sub(l.at)/lookShare, lookBurst)
	}
	l.at = now
}

// wait returns the time until a look may begin; 0: now.
func (l *looks) wait() time.Duration {
	l.refill()
	return max(0, -l.left) * lookShare
}

// begin begins the look that waits longest, if it may.
func (l *looks) begin() {
	l.collect()
	if l.looker == nil || l.underway != nil || len(l.waiting) == 0 || l.wait() > 0 {
		return
	}
	w := l.waiting[0]
	begin := func(pid int) bool { return l.looker.FindVariables(pid, nil) }
	switch w.kind {
	case lookAudit:
		begin = l.looker.FindHolders
	case lookCheck:
		begin = func(pid int) bool { return l.looker.FindVariables(pid, l.watched(pid)) }
	}
	if begin(w.pid) {
		l.waiting = slices.Delete(l.waiting, 0, 1)
		l.underway, l.gone = &w, false
	}
}

// drop forgets a process that has ended, or has become another program.
func (l *looks) drop(pid int) {
	l.waiting = slices.DeleteFunc(l.waiting, func(w wish) bool { return w.pid == pid })
	l.answers = slices.DeleteFunc(l.answers, func(a answered) bool { return a.pid == pid })
	if l.underway != nil && l.underway.pid == pid {
		l.gone = true
	}
}

// wish returns the number of the next look of a kind into a process, 0 where too many wait.
func (l *looks) wish(pid int, kind kindOfLook) int64 {
	for _, w := range l.waiting {
		if w.pid == pid && w.kind == kind {
			return w.number
		}
	}
	if len(l.waiting) >= maxWaiting {
		return 0
	}
	l.number++
	l.waiting = append(l.waiting, wish{pid, kind, l.number})
	return l.number
}

// awaits reports whether a look of that number is still to come, or under way.
func (l *looks) awaits(pid int, kind kindOfLook, number int64) bool {
	all := l.waiting
	if l.underway != nil && !l.gone {
		all = append(slices.Clip(all), *l.underway)
	}
	return slices.ContainsFunc(all, func(w wish) bool { return w.pid == pid && w.kind == kind && w.number >= number })
}
