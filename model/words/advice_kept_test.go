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
		{WorkersCaptured("big", 96<<20, 0), "how much of big (96.00 MiB) each process holds: the function reads it " +
			"as a global, so joblib sends it to each. An array is mapped from a file, and counts in each but is in " +
			"memory once; anything else is copied"},
		{WorkersCaptured("big", 96<<20, 1), "how much of big (96.00 MiB) and another variable each process holds: " +
			"the function reads it as a global, so joblib sends it to each. An array is mapped from a file, and " +
			"counts in each but is in memory once; anything else is copied"},
		{WorkersCaptured("big", 96<<20, 2), "how much of big (96.00 MiB) and 2 other variables each process holds: " +
			"the function reads it as a global, so joblib sends it to each. An array is mapped from a file, and " +
			"counts in each but is in memory once; anything else is copied"},
		{ForksKept(4, 2, 96<<20), "4 forked processes have 96.00 MiB beyond what they share with this one: run 2 at " +
			"a time"},
		{ForksKept(2, 1, 96<<20), "2 forked processes have 96.00 MiB beyond what they share with this one: run one " +
			"at a time"},
		{ForksFewer(5, 2), "2 at a time may need up to 3 times as long for the same work, if there is a processor " +
			"for each of the 5"},
		{ForksCopy(96 << 20), "the memory that processes copy by writing to it: no counter has it. Python writes to " +
			"each object that it looks at, and a process was born with 96.00 MiB"},
		{ForksAsThreads(), "whether threads would do (multiprocessing.pool.ThreadPool): they copy no arguments, " +
			"results or pages, and are as fast where NumPy computes"},
		{LoadersKept(4, 96<<20), "DataLoader's 4 workers have 96.00 MiB, each the batch that it makes: num_workers=0 " +
			"makes one batch at a time, in this process"},
		{LoadersKept(1, 96<<20), "DataLoader's worker has 96.00 MiB, the batch that it makes: num_workers=0 " +
			"makes one batch at a time, in this process"},
		{LoadersWait(), "each step waits until its batch is made: with workers that is done beside the steps. " +
			"num_workers=1 does so as well, with one worker's memory"},
		{LoadersDraw(), "a dataset that draws random numbers draws others: those of this process, not of a worker"},
		{LoadersAhead(), "the batches that wait, up to num_workers × prefetch_factor of them: they lie in shared " +
			"memory that no process maps, and go as well"},
	} {
		if of.got != of.want {
			t.Errorf("%q, want %q", of.got, of.want)
		}
	}
}
