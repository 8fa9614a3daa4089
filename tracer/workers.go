package tracer

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"ipytracer/tracer/event"
	"ipytracer/tracer/holders"
)

// maxWorkers bounds the children that are looked at.
const maxWorkers = 256

// findWorkers looks which children of the traced processes are workers of a pool that wait for the next task: of a process that was
// forked the command line does not tell.
func (s *Session) findWorkers(ctx context.Context) (found []*event.Holders) {
	for _, t := range s.targets {
		if !t.isRoot() || t.gone || t.python == nil {
			continue
		}
		for _, pid := range descendants(t.pid) {
			if ctx.Err() != nil {
				return found
			}
			p, err := s.open(pid)
			if err != nil {
				s.log.Debug("a child is no Python, or has ended", "pid", pid, "error", err)
				continue
			}
			pool, err := holders.Worker(ctx, p.live)
			p.close()
			s.log.Debug("what a child waits for", "pid", pid, "pool", pool, "error", err)
			if err != nil || pool == "" {
				continue
			}
			found = append(found, &event.Holders{Time: now(), Root: t.root, PID: int32(pid), Complete: true, Pool: pool})
		}
	}
	return found
}

// descendants are a process's children, and theirs: at most [maxWorkers].
func descendants(pid int) (all []int) {
	for queue := []int{pid}; len(queue) > 0 && len(all) < maxWorkers; queue = queue[1:] {
		for _, child := range childrenOf(queue[0]) {
			if len(all) < maxWorkers {
				all, queue = append(all, child), append(queue, child)
			}
		}
	}
	return all
}

// childrenOf reads the children of all threads of a process.
func childrenOf(pid int) (all []int) {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	for _, t := range threads {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(data)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}
