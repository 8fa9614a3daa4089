package words

import (
	"fmt"
	"strconv"
	"strings"

	"ipytracer/event"
	"ipytracer/model"
)

// Endings is what ends processes that a kernel has started.
type Endings struct {
	model.EndedBy
	PIDs []int // in the tracer's pid namespace
}

// The code that shuts down the pool of joblib. In sentences endLoky stands without the import.
const (
	importLoky = "from joblib.externals.loky import get_reusable_executor; "
	endLoky    = "get_reusable_executor().shutdown()"
)

// Code returns one line that ends the processes, to type into a cell of the kernel; "" if no such line is known.
func (e Endings) Code() string {
	switch {
	case e.Helper:
		return ""
	case len(e.Calls) > 0:
		return strings.Join(e.Calls, "; ")
	case e.Pool == event.PoolLoky:
		return importLoky + endLoky
	case e.Pool != "" || !e.SamePIDs || len(e.PIDs) == 0:
		return ""
	}
	return "import os, signal; " + e.kill()
}

// kill returns the Python code that sends SIGTERM to the processes.
func (e Endings) kill() string {
	var pids []string
	for _, pid := range e.PIDs {
		pids = append(pids, strconv.Itoa(pid))
	}
	if len(pids) == 1 {
		return "os.kill(" + pids[0] + ", signal.SIGTERM)"
	}
	return "[os.kill(p, signal.SIGTERM) for p in (" + strings.Join(pids, ", ") + ")];"
}

// String says what ends the processes: "client.close() ends them".
func (e Endings) String() string {
	them := " ends them"
	if len(e.PIDs) == 1 {
		them = " ends it"
	}
	switch {
	case e.Helper && len(e.PIDs) == 1:
		return "it ends with the kernel"
	case e.Helper:
		return "they end with the kernel"
	case len(e.Calls) > 0:
		return strings.Join(e.Calls, "; ") + them
	case e.Pool == event.PoolLoky:
		return endLoky + them
	case e.Pool == event.PoolMultiprocessing:
		return "terminate() of their pool" + them
	case e.Pool != "":
		return "shutdown() of their pool" + them
	case len(e.PIDs) == 1 && e.SamePIDs:
		return e.kill() + them
	}
	return "in a shell, " + killing(e.PIDs) + them
}

// killing returns the shell command that ends processes: "kill 12 13". It names at most 8 of them.
func killing(pids []int) string {
	const few = 8
	text := "kill"
	for i, pid := range pids {
		if i == few {
			return text + " …"
		}
		text += fmt.Sprintf(" %d", pid)
	}
	return text
}
