package words

// Term is the explanation of a word in reports.
type Term struct {
	Names []string // as they are printed; the first leads
	Page  string   // of docs/, with the long form
	Text  string   // one or two sentences
}

// terms are the words of reports for people: the questions of the first lines, the columns, meters, marks and kinds of
// memory. Every printer takes its explanations from here.
var terms = []Term{
	// the first lines
	{
		names("highest"), "reading.md#from-the-top",
		"The most memory that there was at any instant, and the cell and line in which memory rose to it. " +
			"As a column: the peak.",
	},
	{
		names("also", "nearest"), "reading.md#from-the-top",
		"Another memory with a limit, how much of it was used at the most, and where. Nearest: it came " +
			"nearer to its limit than the memory that leads.",
	},
	{
		names("container"), "meters.md#the-container",
		"What Linux charged at the most to the container's memory cgroup, by which its OOM killer goes: " +
			"processes, page cache, tmpfs and the kernel's own memory.",
	},
	{
		names("made by"), "reading.md#from-the-top",
		"The parts of the memory at its highest moment, by the code that made them; every byte is in one " +
			"part. Of a variable it is the code that made its largest piece.",
	},
	{
		names("still there"), "reading.md#from-the-top",
		"The memory after the last cell, by what holds it: names, lines with memory that no name holds, " +
			"what allocators keep, files, processes.",
	},
	{
		names("to free it", "type it"), "variables.md#to-free-it",
		"Code to type into a cell, and in brackets by how much resident memory falls when it has run.",
	},
	{
		names("leaves"), "reading.md#from-the-top",
		"The resident memory that is left when all the code of to free it has run.",
	},
	{
		names("malloc keeps", "kept by malloc", "free, kept by malloc"), "reading.md#from-the-top",
		"Memory that the C library keeps for blocks to come after it was freed. malloc_trim(0) gives it " +
			"back to Linux.",
	},
	{
		names("how sure"), "meters.md#exact-bound-unknown",
		"Exact: every change of memory arrived, and each peak was computed twice, in the kernel and from " +
			"the changes, to the byte the same. Otherwise the first reason why that is not so of all.",
	},
	{names("why it ended"), "endings.md", "Who ended the process, what it had then, and the line that ran."},
	{
		names("the limit"), "endings.md",
		"The limit that was full when Linux's OOM killer ended the process, and what was used of it.",
	},
	{
		names("no memory"), "endings.md",
		"A cell that failed for want of memory, its line, and the request that was refused.",
	},
	{names("slower"), "meters.md#cpunumpy", "Probes are at places that cost more than usual, and by how much."},
	{
		names("from before the attach", "before the attach"), "reading.md#from-the-top",
		"Memory that the process had when the tracer came: no line is known for it.",
	},
	{
		names("not explained"), "variables.md#where-the-rest-of-resident-memory-is",
		"What is left of the memory when all known parts are taken from it.",
	},
	{
		names("of other objects", "other objects"), "variables.md#where-the-rest-of-resident-memory-is",
		"Blocks of Python and of allocators that are in no name and no line beside them: modules, " +
			"functions, shared objects.",
	},
	{
		names("pages of files"), "variables.md#where-the-rest-of-resident-memory-is",
		"Memory that shows a file's content: the code of libraries, mapped data. Linux can take it back " +
			"at any time.",
	},
	{
		names("variables of libraries"), "variables.md#where-the-rest-of-resident-memory-is",
		"Writable data that programs and libraries begin with.",
	},
	{
		names("smaller parts", "smaller part"), "reading.md#from-the-top",
		"Parts that are not named, as one sum. --full and JSON name them.",
	},
	{
		names("lost in a cycle", "lost"), "audit.md",
		"Objects that refer only to each other, in a way that Python's garbage collector does not see: " +
			"nothing frees them by itself.",
	},

	// quantities
	{
		names("peak", "at its highest"), "meters.md",
		"The highest value of a meter while a cell or another window lasted, computed at the event that " +
			"made it.",
	},
	{
		names("need", "resident need"), "reading.md#cells-and-columns",
		"The peak less the start: how much memory must be free before the cell runs.",
	},
	{
		names("consumed", "kept", "keeps"), "reading.md#cells-and-columns",
		"The end less the start: how much the cell kept. Below 0 it gave memory back.",
	},
	{
		names("peaked"), "reading.md#cells-and-columns",
		"The peak less the larger of start and end: what was needed only for a while.",
	},
	{
		names("total", "end", "at the end"), "reading.md#cells-and-columns",
		"The value of a meter when the window ended: what the process then held.",
	},
	{names("start", "at the start"), "meters.md", "The value of a meter when the window began."},
	{
		names("with children", "with its children", "tree", "Σ"), "meters.md#trees",
		"Of the process and all processes that it started, together, instant by instant. What forked ones " +
			"share counts once.",
	},
	{
		names("copied", "resident copied"), "meters.md#trees",
		"Pages that a forked process has of its own because it, or its parent, wrote to them after the " +
			"fork. Counted with --copies.",
	},
	{
		names("time", "runs", "began", "from", "to"), "windows.md",
		"Time on the clock, not of a processor: how long it took or, with +, how long after the session's " +
			"begin.",
	},
	{
		names("where it was highest"), "reading.md#cells-and-columns",
		"The line in which memory rose to the cell's peak, or the cell's source.",
	},
	{names("▲"), "reading.md#cells-and-columns", "Marks the line in which memory rose to the cell's peak."},

	// who allocated, variables
	{
		names("at peak", "at the peak", "there at the peak", "at the session's peak"), "allocations.md",
		"Of what the line allocated, what was there at the cell's highest moment.",
	},
	{names("allocated"), "allocations.md", "All that the line allocated in the cell, also what it freed again."},
	{names("freed"), "allocations.md", "What was freed of the memory that the line allocated."},
	{names("net"), "allocations.md#lines-and-tensors", "Allocated less freed, in the cell."},
	{names("left"), "allocations.md#lines-and-tensors", "What the line allocated and was not freed by the end."},
	{names("times", "blocks"), "allocations.md", "How often memory was allocated, or how many blocks there are."},
	{names("of"), "allocations.md#lines-and-tensors", "The size of each block."},
	{
		names("rounding"), "allocations.md#lines-and-tensors",
		"What PyTorch's allocator added to blocks beyond what was asked for.",
	},
	{
		names("who", "line", "line at the peak", "where"), "allocations.md",
		"The calls that allocated, from the cell's line inwards.",
	},
	{
		names("alone"), "variables.md#the-meaning-of-alone",
		"What is freed when the name, or all names of the object, are deleted.",
	},
	{names("reaches"), "variables.md", "All that the name leads to, also what other names lead to."},
	{
		names("held by", "held", "holder"), "holders.md",
		"What keeps the memory: a name, an attribute, an output, a traceback, a cycle.",
	},
	{
		names("predicted"), "variables.md#memory-that-came-back",
		"By how much resident memory was to fall when code of to free it ran.",
	},
	{names("came back"), "variables.md#memory-that-came-back", "By how much resident memory fell then."},
	{names("oldest"), "audit.md", "How long ago the first block of these was made."},
	{names("why", "try"), "audit.md", "What a verdict rests on, and what to change."},
	{names("bytes"), "variables.md", "The size that the allocator gave, with headers and spare room."},
	{names("share"), "reading.md", "A part of the whole, in per cent."},

	// windows and the certificate
	{
		names("window"), "windows.md",
		"A stretch of time with figures: a session, an experiment, a cell or a statement.",
	},
	{
		names("cell", "cells", "In[N]"), "windows.md#cells",
		"What ran from Shift-Enter until the kernel was done with it: statements, display, hooks. In[N] " +
			"is its number as the notebook shows it.",
	},
	{names("#"), "windows.md#cells", "The number of the cell's run in the session."},
	{names("statement"), "windows.md", "A top-level statement of a cell, from its begin to its return."},
	{names("experiment"), "windows.md#experiments", "The time between two marks that the notebook makes."},
	{names("session"), "windows.md", "From the attach to the detach, or to the process's end."},
	{names("task", "tasks", "worker"), "dask.md", "Work of a Dask cluster, and the process that did it."},
	{names("test"), "pytest.md", "A test that pytest ran."},
	{
		names("display and hooks"), "windows.md#cells",
		"The time of a cell after its last statement: its result is shown, and functions of IPython's and " +
			"of libraries run.",
	},
	{
		names("between cells", "after In[N]", "when"), "windows.md",
		"The time in which no cell ran: timers, threads and hooks allocate then, too.",
	},
	{names("incomplete"), "windows.md#cells", "The cell still ran when the tracer left, or its end was not seen."},
	{
		names("certificate", "complete"), "windows.md#losses",
		"What was compared and what was lost. Complete: every change made in the kernel reached the " +
			"report.",
	},
	{
		names("figures are"), "meters.md#exact-bound-unknown",
		"How exact a meter's figures are: exact, within so many bytes, or at least.",
	},
	{
		names("windows proven", "proven"), "reading.md#cells-and-columns",
		"In how many windows the peak that the kernel kept, and the one computed again from the changes, " +
			"are the same to the byte.",
	},
	{
		names("served by", "probe", "fired"), "meters.md",
		"The places in the kernel or in a library at which a meter's events are seen, and how often one " +
			"was.",
	},
	{
		names("changes"), "windows.md#losses",
		"Changes of memory that the kernel half has made a record of, and those that arrived.",
	},
	{names("boundaries"), "windows.md#losses", "Begins and ends of windows."},
	{names("joined late"), "meters.md", "A library that was loaded before its probes were in place."},
	{names("problem"), "windows.md#losses", "Something that kept the tracer from seeing all."},

	// marks
	{
		names("≈", "about"), "meters.md#exact-bound-unknown",
		"Not exact: the figure can be off by a known bound, which stands at the end of the report.",
	},
	{
		names("≥", "at least"), "meters.md#exact-bound-unknown",
		"At least this much: a part of the time or of the memory was not seen.",
	},
	{
		names("~", "estimated", "sampled"), "allocations.md#who-touched-it",
		"Estimated from samples of pages or blocks. The meter itself counted all of them.",
	},
	{
		names("up to"), "reading.md#from-the-top",
		"At most this much: a part of it may not be touched, or may be shared.",
	},
	{names("–", "none"), "meters.md", "There is no figure: the meter did not serve in this window."},

	// meters
	{names("meter"), "meters.md", "A running number of bytes of one process."},
	{
		names("resident", "RSS"), "meters.md#cpuresident",
		"Physical memory that the process occupies, page by page. Untouched and swapped-out memory is not " +
			"in it.",
	},
	{
		names("resident anon", "anon"), "meters.md",
		"The part of resident memory that is the process's own pages: heap, stacks.",
	},
	{names("resident file"), "meters.md", "The part of resident memory that is pages of mapped files."},
	{
		names("resident shmem", "shmem"), "meters.md",
		"The part of resident memory that is shared: /dev/shm, memfd, shared mappings.",
	},
	{names("mapped"), "meters.md#cpumapped", "Private writable memory that the process asked for, touched or not."},
	{
		names("numpy"), "meters.md#cpunumpy",
		"Data of live NumPy arrays, by the bytes asked for. As a column: the need of it.",
	},
	{names("torch"), "meters.md#cputorch", "PyTorch's tensors in the machine's memory. As a column: the need of it."},
	{names("arrow"), "meters.md#cpuarrow", "What Arrow's memory pools have handed out. As a column: the need of it."},
	{names("heap"), "meters.md#cpuheap", "Live blocks of malloc, counted with --heap. As a column: the need of it."},
	{names("pinned"), "meters.md", "Page-locked memory of the machine, taken or registered through the CUDA driver."},
	{
		names("driver", "GPU"), "meters.md#gpus",
		"A GPU's memory that the process took through the CUDA driver. As a column: the need of it.",
	},
	{names("active"), "meters.md#gpus", "A GPU's memory that PyTorch's allocator has handed out to tensors."},
	{
		names("reserved"), "meters.md#gpus",
		"A GPU's memory that PyTorch's allocator holds from the driver, handed out or not.",
	},
	{
		names("unattributed"), "meters.md#gpus",
		"What NVML charges to the process beyond what it took through the driver: sampled when cells " +
			"begin and end.",
	},
	{names("PyTorch's cache"), "gpu.md", "A GPU's memory that PyTorch's allocator keeps for tensors to come."},

	// plain columns
	{
		names("kernel", "process", "pid", "parent", "command"), "windows.md",
		"A process, by its id: the kernel that runs the cells, or one that it started.",
	},
	{names("host"), "reading.md", "The machine, its Linux, processors and memory."},
	{
		names("limit", "limits"), "limit.md",
		"What bounds the process's memory: a cgroup, the machine, a soft limit on mapped memory.",
	},
	{
		names("name", "type", "shape"), "variables.md",
		"A variable, the type of its object, and the lengths of an array's axes.",
	},
	{names("source", "file"), "windows.md", "The code as it was typed, or the file in which it is."},
	{names("what"), "variables.md#where-the-rest-of-resident-memory-is", "A part of resident memory."},
}

func names(names ...string) []string { return names }
