package holders

import (
	"context"
	"fmt"
	"strings"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// workerLoops are the functions in which workers take task after task, by the ends of their files' names.
var workerLoops = []struct{ file, function, pool string }{
	{"/multiprocessing/pool.py", "worker", event.PoolMultiprocessing},
	{"/concurrent/futures/process.py", "_process_worker", event.PoolExecutor},
	{"/loky/process_executor.py", "_process_worker", event.PoolLoky},
}

// Worker returns the pool of a process that is a worker and waits for the next task. Its frames show that: from the
// function in which workers take tasks inward there is only the library's own code. It is "" where the process is none,
// or is at work.
func Worker(ctx context.Context, p *cpython.Interpreter) (pool string, err error) {
	heap, err := p.Heap()
	if err != nil {
		return "", fmt.Errorf("worker: %w", err)
	}
	var limits objects.Limits
	limits.Defaults()
	defer objects.OnThread()()
	mem := objects.NewMemory(p.Memory(), limits.Bytes)
	defer mem.Close()
	r := objects.NewReader(heap, objects.NewBudget(ctx, mem, limits))
	if err := r.LearnTypes(); err != nil {
		return "", fmt.Errorf("worker: %w", err)
	}
	running := walk.NewExits(r)
	for _, t := range running.ReadThreads() {
		if pool := poolOf(r, t.Frames); pool != "" {
			return pool, nil
		}
	}
	return "", nil
}

// poolOf looks at the frames of a thread, the innermost first.
func poolOf(r objects.Reader, frames []uint64) string {
	for _, f := range frames {
		function, file := r.CodeOf(f)
		if file == "" {
			continue // it has no Python code
		}
		for _, loop := range workerLoops {
			if function == loop.function && strings.HasSuffix(file, loop.file) {
				return loop.pool
			}
		}
		if !strings.Contains(file, "/multiprocessing/") && !strings.Contains(file, "/loky/") &&
			!strings.HasSuffix(file, "/threading.py") && !strings.HasSuffix(file, "/selectors.py") {
			return "" // a task
		}
	}
	return ""
}
