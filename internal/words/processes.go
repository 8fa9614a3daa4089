package words

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ipytracer/model"
)

// Forked is the name of a process with the kernel's own command line.
const Forked = "forked by the kernel, the same program"

// ProcessName returns a name for a child process, by its command line: "multiprocessing worker" and the like for known
// command lines, and others as they are.
func ProcessName(command string) string {
	for _, known := range [][2]string{
		{"popen_loky_posix", "joblib worker (loky)"}, {"LokyProcess-", "joblib worker (loky)"},
		{"multiprocessing.spawn import spawn_main", "multiprocessing worker"},
		{"multiprocessing.forkserver", "multiprocessing fork server"},
		{"resource_tracker", "resource tracker of multiprocessing"},
	} {
		if strings.Contains(command, known[0]) {
			return known[1]
		}
	}
	return command
}

// ProcessKind returns the kind of a child process, by its name.
func ProcessKind(name string) string {
	switch {
	case strings.Contains(name, "worker"):
		return "workers"
	case strings.HasPrefix(name, "forked"):
		return "forked processes"
	}
	return "child processes"
}

// Helpers is the kind of processes that multiprocessing starts for itself.
const Helpers = "helpers of multiprocessing"

// processes counts processes of a kind: "4 workers".
func processes(n int, kind string) string {
	switch kind {
	case "forked processes", "child processes":
		return Plural(n, strings.TrimSuffix(kind, "es"))
	case Helpers:
		return Plural(n, "helper") + " of multiprocessing"
	}
	return Plural(n, strings.TrimSuffix(kind, "s"))
}

// sizes returns "2 × 129.00 MiB" for sizes that differ by at most a twentieth, "120.00 MiB + 64.00 MiB" for up to three
// others, and "9 with 1.20 GiB together" for more.
func sizes(all []int64) string {
	sum := sumOf(all)
	most, least := slices.Max(all), slices.Min(all)
	const alike, few = 20, 3
	switch {
	case most-least <= most/alike:
		return fmt.Sprintf("%d × %s", len(all), Bytes(sum/int64(len(all))))
	case len(all) > few:
		return fmt.Sprintf("%d with %s together", len(all), Bytes(sum))
	}
	var texts []string
	for _, n := range slices.SortedFunc(slices.Values(all), func(a, b int64) int { return cmp.Compare(b, a) }) {
		texts = append(texts, Bytes(n))
	}
	return strings.Join(texts, " + ")
}

func sumOf(all []int64) (sum int64) {
	for _, n := range all {
		sum += n
	}
	return sum
}

// LimitedBy says who set a limit and, for a limit that a tracer left, how to remove it.
func LimitedBy(l *model.SoftLimit, pid int) string {
	switch l.By {
	case "session":
		return "set by --limit for the session"
	case "command":
		return "set by `tracer limit`"
	case "left":
		return fmt.Sprintf("left by a tracer that was killed, or set by another that runs; "+
			"`tracer limit %d off` takes it away", pid)
	}
	return "the process's own (`ulimit -d`)"
}
