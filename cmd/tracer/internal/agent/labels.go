package agent

import (
	"time"

	"ipytracer/cmd/tracer/internal/agent/telemetry"
)

// labels bound the number of time series of owners. Users and pods come and go for as long as an agent runs: an owner
// without a cell for a while is dropped with its counters, and where too many are there at once, a new one counts as
// "other".
type labels struct {
	used   map[telemetry.Owner]time.Time // when each owner was last counted
	folded uint64                        // how often an owner had no room
	now    func() time.Time              // for tests; nil: the clock
}

// seriesOfOwner is the number of time series that an owner has at most: outcomes of cells, the histogram, causes of
// deaths, outcomes of tasks (two), and their histogram.
var seriesOfOwner = len(outcomes) + 1 + 1 + len(causes) + 3

// otherOwner is the owner that stands for those without room.
var otherOwner = telemetry.Owner{Namespace: "other", Pod: "other", Container: "other", User: "other"}

// of returns the labels of an owner's counters.
func (l *labels) of(m *metrics, o telemetry.Owner) []string {
	if !m.config().Users {
		o.User = ""
	}
	if l.used == nil {
		l.used = map[telemetry.Owner]time.Time{}
	}
	if _, known := l.used[o]; !known && (len(l.used)+1)*seriesOfOwner > m.config().Series {
		l.folded++
		o = otherOwner
	}
	l.used[o] = l.time()
	return []string{o.Namespace, o.Pod, o.Container, o.User}
}

func (l *labels) time() time.Time {
	if l.now != nil {
		return l.now()
	}
	return time.Now()
}

// evict drops the counters of owners without a cell for a while, unless one of their kernels is there.
func (l *labels) evict(m *metrics) {
	old := l.time().Add(-time.Duration(m.config().Keep))
	live := map[telemetry.Owner]bool{}
	for k := range m.kernels {
		live[k.Owner] = true
	}
	for o, at := range l.used {
		if at.After(old) || live[o] {
			continue
		}
		delete(l.used, o)
		of := map[string]string{"namespace": o.Namespace, "pod": o.Pod, "container": o.Container, "user": o.User}
		m.cells.DeletePartialMatch(of)
		m.needs.DeletePartialMatch(of)
		m.deaths.DeletePartialMatch(of)
		m.tasks.DeletePartialMatch(of)
		m.needed.DeletePartialMatch(of)
	}
}
