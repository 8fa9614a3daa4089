package words

import "testing"

func TestAdviceKept(t *testing.T) {
	for _, of := range []struct{ got, want string }{
		{OutputKept(3, 96<<20), "Out[3] holds 96.00 MiB that no name holds: show it with display(), which keeps " +
			"nothing"},
		{OutputGone(3), "the value is shown without its Out[3], and neither _3 nor _ is set"},
		{TracebackKept(3, 96<<20), "the traceback of In[3] holds 96.00 MiB, the variables of the functions that " +
			"failed: let it go before the next cell"},
		{TracebackGone(), "%debug and %tb have no exception to show"},
		{CacheKept("tile", 48, 96<<20), "the cache of tile holds 48 results, 96.00 MiB: keep the last one only"},
		{CacheAgain("tile"), "tile computes a result again if it is called with earlier arguments: that takes time, " +
			"and gives another object"},
		{CacheHits("tile"), "how often tile returned a result from its cache: tile.cache_info() says it"},
		{SummaryKept("runs", 20, 96<<20, "run.mean()"), "runs holds 20 results, 96.00 MiB, and only run.mean() of " +
			"each is used: keep that alone"},
		{SummaryOnly("runs"), "the results themselves are gone: cells that are added later find summaries in runs"},
		{FiguresKept(16, 96<<20), "pyplot keeps 16 figures, at least 96.00 MiB with their data: close each"},
		{FiguresClosed(), "a closed figure cannot be drawn on, and the notebook does not show it"},
		{FigurePieces(), "memory of figures in blocks of less than 128 KiB"},
		{Collects(), "Python's collector looks at all objects in each pass, which takes up to some tenths of a second"},
		{GarbageKept("tree", 24, 96<<20), "24 values that tree had, 96.00 MiB, refer to themselves and wait for " +
			"Python's collector: call it in each pass"},
		{WorkersKept(96 << 20), "joblib's processes have at least 96.00 MiB: threads share the memory of this process"},
		{WorkersShare(), "threads share variables, the state of random generators among them, and open files"},
		{WorkersTime(), "whether threads are as fast: they are where NumPy computes, and not where Python does"},
	} {
		if of.got != of.want {
			t.Errorf("%q, want %q", of.got, of.want)
		}
	}
}
