package companion

import (
	"cmp"
	"slices"
	"time"

	"ipytracer/event"
	"ipytracer/model"
)

// Looker looks into traced processes, one at a time: it reads their objects from outside while they run. The findings
// of a look always come as an [event.Looked].
type Looker interface {
	// FindVariables and FindHolders begin a look into a process. They return false if another look is under way.
	// FindVariables also finds out which of the watched objects still exist.
	FindVariables(pid int, watch []event.Piece) bool
	FindHolders(pid int) bool
	// ToFree returns code that frees the memory of names, and the largest objects that each entry frees.
	ToFree(*event.Looked) ([]model.Freeing, [][]event.Piece)
	// Named returns the variables that a look found. Audited returns the audit of a process, given the holders that a
	// look found.
	Named(*event.Variables) ([]model.Variable, model.Names)
	Audited(pid int, found []*event.Holders) *model.Audit
	// Advised reads the session so far, with the variables of a process. It returns a function that returns the advice
	// as text. The function takes longer, and may run while the session goes on.
	Advised(pid int, found *event.Variables) func() string
	// WhyNoAudit returns a sentence that says why nothing can be audited; "" if an audit is possible.
	WhyNoAudit() string
}

// Bounds of a session's looks. A notebook that asks again and again waits until others had their turn. All looks
// together take a bounded share of a processor's time.
const (
	lookShare   = 10               // the reciprocal of the share that they may take in the long run
	lookBurst   = 20 * time.Second // how much they may take besides
	maxWaiting  = 64               // wishes
	maxAnswered = 8                // answers that are kept until they are fetched
)

// wish is a look that a notebook asked for.
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

// looks has the looks of a session. Its methods are for one goroutine.
type looks struct {
	looker   Looker
	now      func() time.Time
	number   int64
	waiting  []wish // at most one of each process and kind
	underway *wish
	gone     bool          // the process of the look under way has ended
	written  chan answered // gets the answer of the look under way once its text is written; nil without a text
	answers  []answered

	watched func(pid int) []event.Piece // returns the objects that a check looks for

	left time.Duration // the time that looks could still take at the time at
	at   time.Time
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

// Look sets the looker for later requests.
func (h *Hub) Look(l Looker) { h.looks.looker = l }

// HasLine reports whether any process has a line. It may be called from any goroutine.
func (h *Hub) HasLine() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.lines) > 0
}

// Looked takes the findings of the look that is under way.
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
		l.keep(h.answerOf(*w, e))
	}
	l.take(time.Duration(e.Cost) + l.now().Sub(began)) // processor time: on a busy machine e.Took is longer
}

// answerOf returns the answer for the findings of a look.
func (h *Hub) answerOf(w wish, e *event.Looked) answered {
	looker := h.looks.looker
	a := answered{wish: w, why: e.Why, took: time.Duration(e.Took)}
	switch {
	case w.kind == lookAudit && len(e.Holders) > 0:
		a.audit = looker.Audited(w.pid, e.Holders)
	case w.kind != lookAudit && e.Variables != nil:
		variables, names := looker.Named(e.Variables)
		slices.SortStableFunc(variables, func(x, y model.Variable) int {
			return cmp.Or(cmp.Compare(y.Size(), x.Size()), cmp.Compare(y.Bytes+y.Device, x.Bytes+x.Device))
		})
		if rest := len(variables) - maxListed; rest > 0 {
			variables, names.Unlisted = variables[:maxListed], names.Unlisted+int64(rest)
		}
		a.listed, a.names = variables, &names
	}
	if e.Variables != nil {
		if w.kind == lookCheck {
			a.check = h.promises.check(w.pid, e)
		}
		free, pieces := looker.ToFree(e)
		a.free = free
		h.promises.keep(w.pid, free, pieces, e.Variables.Memory)
	}
	if a.names == nil && a.audit == nil && a.why == "" {
		a.why = "its objects could not be looked at"
	}
	return a
}

// write has another goroutine write the text of an answer. The look stays under way until [looks.collect] takes the
// answer, so only one text is written at a time.
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

// collect takes an answer whose text is written, if there is one.
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

// keep stores an answer. It replaces the process's earlier answer of the same kind, or the oldest answer.
func (l *looks) keep(one answered) {
	l.answers = slices.DeleteFunc(l.answers, func(a answered) bool { return a.pid == one.pid && a.kind == one.kind })
	l.answers = append(l.answers, one)
	l.answers = slices.Delete(l.answers, 0, max(0, len(l.answers)-maxAnswered))
}

// take subtracts time from the looks' allowance.
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

// wait returns the time until the next look may begin; 0 if it may begin now.
func (l *looks) wait() time.Duration {
	l.refill()
	return max(0, -l.left) * lookShare
}

// begin begins the look that has waited longest, if a look may begin.
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

// drop removes the looks of a process that has ended or executed another program.
func (l *looks) drop(pid int) {
	l.waiting = slices.DeleteFunc(l.waiting, func(w wish) bool { return w.pid == pid })
	l.answers = slices.DeleteFunc(l.answers, func(a answered) bool { return a.pid == pid })
	if l.underway != nil && l.underway.pid == pid {
		l.gone = true
	}
}

// wish adds a look to those that wait, and returns its number. It returns the number of an equal look that waits
// already, and 0 if too many looks wait.
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

// awaits reports whether a look with at least this number waits or is under way.
func (l *looks) awaits(pid int, kind kindOfLook, number int64) bool {
	wishes := l.waiting
	if l.underway != nil && !l.gone {
		wishes = append(slices.Clip(wishes), *l.underway)
	}
	return slices.ContainsFunc(wishes, func(w wish) bool {
		return w.pid == pid && w.kind == kind && w.number >= number
	})
}
