package ledger

import (
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf/link"
)

// closings counts links that are being closed.
type closings struct {
	mu        sync.Mutex
	now, most int
	several   chan struct{} // is closed once two have been closed at a time
}

// slowLink is a link that takes its time to close: the first one takes as long as there is no second one.
type slowLink struct {
	link.Link
	all *closings
}

func (l slowLink) Close() error {
	l.all.add(1)
	select {
	case <-l.all.several:
	case <-time.After(time.Minute):
	}
	l.all.add(-1)
	return nil
}

func (c *closings) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now += n; c.now > c.most {
		if c.most = c.now; c.most == 2 {
			close(c.several)
		}
	}
}

// TestManyProbesClose: of very many probes some are removed at a time, and in the end all are.
func TestManyProbesClose(t *testing.T) {
	c := closings{several: make(chan struct{})}
	var all linkSet
	for range 20 * maxClosing {
		all = append(all, slowLink{nil, &c})
	}
	if err := all.Close(); err != nil || c.most > maxClosing || c.most < 2 || c.now != 0 {
		t.Errorf("%d of %d at a time, %d are not closed: %v", c.most, len(all), c.now, err)
	}
}
