package saved

import (
	"net"
	"net/http"
	"testing"
)

// end is a connection that records whether it was closed.
type end struct {
	net.Conn
	closed bool
}

func (e *end) Close() error {
	e.closed = true
	return nil
}

// TestOldestStrangerIsClosed: a new stranger closes the oldest stranger, never a connection that had the secret. Among
// connections with the secret, the oldest is closed, too.
func TestOldestStrangerIsClosed(t *testing.T) {
	var g guests
	owner := &end{}
	asks := (&http.Request{}).WithContext(g.begin(t.Context(), owner))
	g.follow(owner, http.StateNew)
	g.admit(asks)
	g.admit(asks) // again on the same connection
	var strangers []*end
	for range maxStrangers + 10 {
		strangers = append(strangers, &end{})
		g.follow(strangers[len(strangers)-1], http.StateNew)
	}
	for i, s := range strangers {
		if s.closed != (i < 10) {
			t.Errorf("stranger %d: closed %v", i, s.closed)
		}
	}
	if owner.closed || len(g.strangers) != maxStrangers || len(g.known) != 1 {
		t.Errorf("owner closed: %v; %d strangers, %d known", owner.closed, len(g.strangers), len(g.known))
	}
	g.follow(strangers[0], http.StateClosed) // it was closed here
	g.admit((&http.Request{}).WithContext(g.begin(t.Context(), strangers[1])))
	if len(g.strangers) != maxStrangers || len(g.known) != 1 {
		t.Errorf("one that was closed counts: %d strangers, %d known", len(g.strangers), len(g.known))
	}
	for range maxKnown {
		c := &end{}
		g.follow(c, http.StateNew)
		g.admit((&http.Request{}).WithContext(g.begin(t.Context(), c)))
	}
	if !owner.closed || len(g.known) != maxKnown {
		t.Errorf("owner closed: %v; %d known", owner.closed, len(g.known))
	}
	g.follow(strangers[len(strangers)-1], http.StateClosed)
	if len(g.strangers) >= maxStrangers {
		t.Errorf("%d strangers, and one has left", len(g.strangers))
	}
}
