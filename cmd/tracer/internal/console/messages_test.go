package console

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// gate is a reader that reads nothing until it is opened.
type gate struct {
	mu     sync.Mutex
	open   chan struct{}
	passed bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.passed.Write(p)
}

// TestMessages: writers never wait; lines without room are counted exactly, at their place.
func TestMessages(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	m := NewMessages(g)
	const lines = 20_000
	for i := range lines {
		fmt.Fprintf(m, "line %d of text that says something of a cell\n", i)
	}
	close(g.open)
	m.Drain(time.Minute)
	fmt.Fprintln(m, "the end")
	m.Drain(time.Minute)
	said := strings.Split(strings.TrimSpace(g.passed.String()), "\n")
	printed, left := 0, 0
	for _, line := range said[:len(said)-1] {
		var n int
		switch {
		case strings.HasPrefix(line, fmt.Sprintf("line %d of", printed+left)):
			printed++
		default: // twice, where the printer began when there was no room any more
			if _, err := fmt.Sscanf(line, "tracer: %d lines were left out", &n); err != nil {
				t.Fatalf("after %d lines: %q", printed, line)
			}
			left += n
		}
	}
	if printed+left != lines || left == 0 || said[len(said)-1] != "the end" {
		t.Errorf("%d printed, %d left out, of %d; at last %q", printed, left, lines, said[len(said)-1])
	}
}

// TestDrainDoesNotWaitForEver: unread output does not keep the program from ending.
func TestDrainDoesNotWaitForEver(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	m := NewMessages(g)
	fmt.Fprintln(m, "nobody reads this")
	m.Drain(time.Millisecond)
	close(g.open)
	m.Drain(time.Minute)
	if g.passed.String() != "nobody reads this\n" {
		t.Errorf("%q", g.passed.String())
	}
}
