package rows

import (
	"strings"

	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/words"
)

// pool is a kind of pool whose workers wait for the next task until it is shut down.
type pool struct {
	Name string // as reports show it
}

var pools = []pool{{event.PoolLoky}, {event.PoolMultiprocessing}, {event.PoolExecutor}}

// PoolOf returns the pool of a worker process: the pool that it reported or, if reported is "", the pool that its
// command line shows. ok is false for a process that is no worker.
func PoolOf(command, reported string) (p pool, ok bool) {
	if reported == "" && (strings.Contains(command, "loky.backend.popen_loky") ||
		strings.Contains(command, "--process-name LokyProcess-")) {
		reported = pools[0].Name
	}
	for _, p := range pools {
		if p.Name == reported {
			return p, true
		}
	}
	if reported != "" {
		return pool{words.Bounded(reported, windows.MaxPool)}, true
	}
	return p, false
}

// IsHelper reports whether multiprocessing or joblib keeps a process for itself until the program ends.
func IsHelper(command string) bool {
	for _, name := range []string{"multiprocessing.resource_tracker", "multiprocessing.semaphore_tracker",
		"loky.backend.resource_tracker", "loky.backend.semaphore_tracker"} {
		if strings.Contains(command, name) {
			return true
		}
	}
	return strings.Contains(command, "multiprocessing.forkserver import main")
}
