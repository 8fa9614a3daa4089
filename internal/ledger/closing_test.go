package ledger

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf/link"
)

// slowLink is a link that takes its time to close.
type slowLink struct {
	link.Link
	now, most *atomic.Int32
}

func (l slowLink) Close() error {
	n := l.now.Add(1)
	for m := l.most.Load(); n > m && !l.most.CompareAndSwap(m, n); m = l.most.Load() {
	}
	time.Sleep(time.Millisecond)
	l.now.Add(-1)
	return nil
}

// TestManyProbesClose: of very many probes some are removed at a time, and in the end all are.
func TestManyProbesClose(t *testing.T) {
	var now, most atomic.Int32
	var all linkSet
	for range 20 * maxClosing {
		all = append(all, slowLink{nil, &now, &most})
	}
	if err := all.Close(); err != nil || most.Load() > maxClosing || most.Load() < 2 {
		t.Errorf("%d of %d at a time: %v", most.Load(), len(all), err)
	}
}
