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

// Worker returns the pool of a process that is a worker and waits for the next task; "" for a worker that is at work,
// and for other processes. The frames of a thread show that: from the function in which workers take tasks inward there
// is only the library's own code.
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
	exits := walk.NewExits(r)
	for _, t := range exits.ReadThreads() {
		if pool := poolOf(r, t.Frames); pool != "" {
			return pool, nil
		}
	}
	return "", nil
}

// poolOf returns the pool of a thread that waits for a task, "" for other threads. The innermost frame comes first.
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
		if !isPoolCode(file) {
			return "" // a task
		}
	}
	return ""
}

// isPoolCode reports whether a worker that waits for a task runs code of a file.
func isPoolCode(file string) bool {
	return strings.Contains(file, "/multiprocessing/") || strings.Contains(file, "/loky/") ||
		strings.HasSuffix(file, "/threading.py") || strings.HasSuffix(file, "/selectors.py")
}
