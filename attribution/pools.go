package attribution

import (
	"strings"

	"ipytracer/event"
	"ipytracer/model/words"
)

// pool is a kind of pool whose workers wait for the next task until it is shut down.
type pool struct {
	name string // for people
	fix  string // Python that ends it; "" where that takes the name that the notebook gave it
}

var pools = []pool{
	{event.PoolLoky,
		"from joblib.externals.loky import get_reusable_executor; get_reusable_executor().shutdown(wait=True)"},
	{event.PoolMultiprocessing, ""},
	{event.PoolExecutor, ""},
}

// poolOf knows the workers of pools: by what their frames said in the end, or by their command line. ok is false for
// other processes.
func poolOf(command, told string) (p pool, ok bool) {
	if told == "" && (strings.Contains(command, "loky.backend.popen_loky") ||
		strings.Contains(command, "--process-name LokyProcess-")) {
		told = pools[0].name
	}
	for _, p := range pools {
		if p.name == told {
			return p, true
		}
	}
	if told != "" {
		return pool{words.Bounded(told, 64), ""}, true
	}
	return p, false
}

// isHelper knows the processes that multiprocessing and joblib keep for themselves until the program ends.
func isHelper(command string) bool {
	for _, name := range []string{"multiprocessing.resource_tracker", "multiprocessing.semaphore_tracker",
		"loky.backend.resource_tracker", "loky.backend.semaphore_tracker"} {
		if strings.Contains(command, name) {
			return true
		}
	}
	return strings.Contains(command, "multiprocessing.forkserver import main")
}
