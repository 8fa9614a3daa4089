package words

import (
	"fmt"
	"strconv"
)

// OutputKept says that the history of outputs holds a value that a cell shows.
func OutputKept(number int, bytes int64) string {
	return fmt.Sprintf("Out[%d] holds %s that no name holds: show it with display(), which keeps nothing", number,
		Bytes(bytes))
}

// OutputGone says what there is no more without an output.
func OutputGone(number int) string {
	return fmt.Sprintf("the value is shown without its Out[%d], and neither _%d nor _ is set", number, number)
}

// TracebackKept says that the frames of a failed cell hold memory.
func TracebackKept(number int, bytes int64) string {
	return fmt.Sprintf("the traceback of In[%d] holds %s, the variables of the functions that failed: let it go "+
		"before the next cell", number, Bytes(bytes))
}

// TracebackGone says what there is no more without a traceback.
func TracebackGone() string { return "%debug and %tb have no exception to show" }

// CacheKept says that a cache of results holds memory.
func CacheKept(function string, entries, bytes int64) string {
	return fmt.Sprintf("the cache of %s holds %d results, %s: keep the last one only", function, entries, Bytes(bytes))
}

// CacheAgain says what a smaller cache changes.
func CacheAgain(function string) string {
	return fmt.Sprintf("%s computes a result again if it is called with earlier arguments: that takes time, and gives "+
		"another object", function)
}

// CacheHits says that the hits of a cache are not known.
func CacheHits(function string) string {
	return fmt.Sprintf("how often %s returned a result from its cache: %s.cache_info() says it", function, function)
}

// SummaryKept says that a container holds results of which a summary is used.
func SummaryKept(name string, count, bytes int64, summary string) string {
	return fmt.Sprintf("%s holds %d results, %s, and only %s of each is used: keep that alone", name, count,
		Bytes(bytes), summary)
}

// SummaryOnly says what there is no more.
func SummaryOnly(name string) string {
	return "the results themselves are gone: cells that are added later find summaries in " + name
}

// FiguresKept says that pyplot holds figures.
func FiguresKept(count, bytes int64) string {
	return fmt.Sprintf("pyplot keeps %d figures, at least %s with their data: close each", count, Bytes(bytes))
}

// FiguresClosed says what closing a figure changes.
func FiguresClosed() string {
	return "a closed figure cannot be drawn on, and the notebook does not show it"
}

// FigurePieces says what is not known of figures.
func FigurePieces() string { return "memory of figures in blocks of less than 128 KiB" }

// Collects says what calling the collector changes.
func Collects() string {
	return "Python's collector looks at all objects in each pass, which takes up to some tenths of a second"
}

// GarbageKept says that objects wait for the collector.
func GarbageKept(name string, count, bytes int64) string {
	return fmt.Sprintf("%d values that %s had, %s, refer to themselves and wait for Python's collector: call it in "+
		"each pass", count, name, Bytes(bytes))
}

// WorkersKept says how much the workers of a pool have.
func WorkersKept(bytes int64) string {
	return fmt.Sprintf("joblib's processes have at least %s: threads share the memory of this process", Bytes(bytes))
}

// WorkersShare says what threads change.
func WorkersShare() string {
	return "threads share variables, the state of random generators among them, and open files"
}

// WorkersTime says what is not known of threads.
func WorkersTime() string {
	return "whether threads are as fast: they are where NumPy computes, and not where Python does"
}

// WorkersCaptured says which global the processes of a pool got with their function; others is how many more they got.
func WorkersCaptured(name string, bytes int64, others int) string {
	rest := ""
	switch {
	case others == 1:
		rest = " and another variable"
	case others > 1:
		rest = fmt.Sprintf(" and %d other variables", others)
	}
	return fmt.Sprintf("how much of %s (%s)%s each process holds: the function reads it as a global, so joblib sends "+
		"it to each. An array is mapped from a file, and counts in each but is in memory once; anything else is copied",
		name, Bytes(bytes), rest)
}

// ForksKept says how much forked processes have.
func ForksKept(have, fewer int, bytes int64) string {
	return fmt.Sprintf("%d forked processes have %s beyond what they share with this one: run %s at a time", have,
		Bytes(bytes), number(fewer))
}

// ForksFewer says what fewer processes change.
func ForksFewer(have, fewer int) string {
	return fmt.Sprintf("%s at a time may need up to %d times as long for the same work, if there is a processor for "+
		"each of the %d", number(fewer), (have+fewer-1)/fewer, have)
}

// ForksCopy says that copied pages are in no figure.
func ForksCopy(born int64) string {
	return fmt.Sprintf("the memory that processes copy by writing to it: no counter has it. Python writes to each "+
		"object that it looks at, and a process was born with %s", Bytes(born))
}

// ForksAsThreads says what may need still less.
func ForksAsThreads() string {
	return "whether threads would do (multiprocessing.pool.ThreadPool): they copy no arguments, results or pages, " +
		"and are as fast where NumPy computes"
}

// number returns the number of processes in a sentence.
func number(count int) string {
	if count == 1 {
		return "one"
	}
	return strconv.Itoa(count)
}

// LoadersKept says how much the workers of DataLoader have.
func LoadersKept(have int, bytes int64) string {
	workers, each := "DataLoader's worker has", ""
	if have > 1 {
		workers, each = fmt.Sprintf("DataLoader's %d workers have", have), "each "
	}
	return fmt.Sprintf("%s %s, %sthe batch that it makes: num_workers=0 makes one batch at a time, in this process",
		workers, Bytes(bytes), each)
}

// LoadersWait says how much time it takes without workers.
func LoadersWait() string {
	return "each step waits until its batch is made: with workers that is done beside the steps. num_workers=1 does " +
		"so as well, with one worker's memory"
}

// LoadersDraw says that random numbers differ without workers.
func LoadersDraw() string {
	return "a dataset that draws random numbers draws others: those of this process, not of a worker"
}

// LoadersAhead says that batches in the queue are in no figure.
func LoadersAhead() string {
	return "the batches that wait, up to num_workers × prefetch_factor of them: they lie in shared memory that no " +
		"process maps, and go as well"
}
