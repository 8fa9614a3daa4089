package session

import (
	"context"
	"fmt"
	"io"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
)

// lookedAt is a session with a look at objects at its end. All its figures are known before. After the Settled it
// waits, like a slow look, until the test lets the look finish or ends it.
type lookedAt struct {
	before  []event.Event
	settled *event.Settled // nil: it has none
	found   []event.Event
	last    *event.Finish
	looking chan struct{} // closed when the look has begun
	let     chan struct{} // closed to let the look finish
	within  context.Context
	ended   bool // it was ended
}

func (l *lookedAt) Next(context.Context) (event.Event, error) {
	take := func(all *[]event.Event) event.Event {
		e := (*all)[0]
		*all = (*all)[1:]
		return e
	}
	switch {
	case len(l.before) > 0:
		return take(&l.before), nil
	case l.settled != nil:
		e := l.settled
		l.settled = nil
		return e, nil
	}
	if l.looking != nil {
		close(l.looking)
		l.looking = nil
		select {
		case <-l.let:
		case <-l.within.Done():
			l.ended, l.found = true, nil
			l.last.Unnamed = []string{"the look at its objects was ended"}
		}
	}
	switch {
	case len(l.found) > 0:
		return take(&l.found), nil
	case l.last != nil:
		e := l.last
		l.last = nil
		return e, nil
	}
	return nil, io.EOF
}

// lookedAtNotebook returns a session of a made-up notebook, that keeps a variable.
func lookedAtNotebook() *lookedAt {
	l := &lookedAt{looking: make(chan struct{}), let: make(chan struct{})}
	s := attributiontest.New(func(e event.Event) {
		if f, ok := e.(*event.Finish); ok {
			l.last = f
			return
		}
		l.before = append(l.before, e)
	}, 7)
	for cell := range uint64(5) {
		s.OpenCell(cell+1, 0, fmt.Sprintf("<ipython-input-%d>", cell+1), "x = np.ones(1 << 22)")
		s.Of(event.StatementOpen, cell+1, 1, 0)
		s.To(attributiontest.Kernel, event.Resident, s.Value(attributiontest.Kernel, event.Resident)+32<<20)
		s.Of(event.StatementClose, cell+1, 0, event.OutcomeOK)
		s.Of(event.CellResult, cell+1, 0, event.OutcomeOK)
		s.CloseCell(cell+1, event.OutcomeOK)
	}
	s.End()
	l.settled = &event.Settled{Finish: *l.last, Holders: true}
	l.found = []event.Event{&event.Variables{PID: attributiontest.Kernel, Complete: true, Variables: []event.Variable{
		{Kind: event.HeldByVariable, Name: "x", Type: "numpy.ndarray", Bytes: 32 << 20, Exact: true, Length: -1},
	}, Owners: []event.Owner{{Kind: event.HeldByVariable, Names: []string{"x"}}},
		Shares: []event.Share{{Owners: []int32{0}, Bytes: 32 << 20, Exact: true}}}}
	return l
}
