package tracer

import (
	"ipytracer/event"
	"ipytracer/tracer/python/holders"
)

// maxWorkers bounds the children that are examined.
const maxWorkers = 256

// findWorkers returns the children of the traced processes that are workers of a pool and wait for the next task: the
// command line of a forked process does not show that.
func (l *lastLook) findWorkers(left processorTime) (found []*event.Holders) {
	for _, t := range l.targets {
		if !t.isRoot() && !l.one || t.gone || t.python == nil {
			continue
		}
		below, err := l.fs.Descendants(t.pid)
		if err != nil {
			l.log.Debug("children are not known", "pid", t.pid, "error", err)
		}
		for _, id := range below[:min(len(below), maxWorkers)] {
			if left.isOver() {
				return found
			}
			pid := id.PID
			p, err := l.interpreters.open(pid)
			if err != nil {
				l.log.Debug("a child is no Python, or has ended", "pid", pid, "error", err)
				continue
			}
			pool, err := holders.Worker(left, p.live)
			p.close()
			l.log.Debug("what a child waits for", "pid", pid, "pool", pool, "error", err)
			if err != nil || pool == "" {
				continue
			}
			found = append(found, &event.Holders{Time: now(), Root: t.root, PID: int32(pid), Complete: true,
				Pool: pool})
		}
	}
	return found
}
