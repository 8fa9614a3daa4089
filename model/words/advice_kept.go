package words

import "fmt"

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
