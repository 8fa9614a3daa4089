package attribution

import (
	"fmt"
	"strings"

	"ipytracer/model"
)

// pool is a kind of pool whose workers wait for the next task until it is shut down.
type pool struct {
	name   string // for people
	advice string
	fix    string // Python that ends it; "" where that takes the name that the notebook gave it
}

var pools = []pool{
	{"joblib (loky)", "joblib keeps its workers for the next call and ends them after five minutes without one; the code below ends them now",
		"from joblib.externals.loky import get_reusable_executor; get_reusable_executor().shutdown(wait=True)"},
	{"multiprocessing.Pool", "call terminate() and join() on the pool, or use it in a with block", ""},
	{"concurrent.futures.ProcessPoolExecutor", "call shutdown() on the executor, or use it in a with block", ""},
}

// poolOf knows the workers of pools: by what their frames said in the end, or by their command line. ok is false for other processes.
func poolOf(command, told string) (p pool, ok bool) {
	if told == "" && (strings.Contains(command, "loky.backend.popen_loky") || strings.Contains(command, "--process-name LokyProcess-")) {
		told = pools[0].name
	}
	for _, p := range pools {
		if p.name == told {
			return p, true
		}
	}
	if told != "" {
		return pool{bounded(told, 64), "shut the pool down", ""}, true
	}
	return p, false
}

// isHelper knows the processes that multiprocessing and joblib keep for themselves until the program ends.
func isHelper(command string) bool {
	for _, name := range []string{"multiprocessing.resource_tracker", "multiprocessing.semaphore_tracker", "loky.backend.resource_tracker", "loky.backend.semaphore_tracker"} {
		if strings.Contains(command, name) {
			return true
		}
	}
	return strings.Contains(command, "multiprocessing.forkserver import main")
}

// wordPool says what waits there.
func (p pool) word(v *model.Verdict, workers int64) {
	v.Evidence = fmt.Sprintf("%d workers of %s wait for the next task: %s", workers, p.name, v.Command)
	if workers == 1 {
		v.Evidence = fmt.Sprintf("a worker of %s waits for the next task: %s", p.name, v.Command)
	}
	v.Advice = p.advice
}
