// Package tracer attaches to processes and is the live [event.Source]: it owns everything with a side effect, and
// orders the packages below it. It knows neither windows nor peaks (attribution) nor words for people (cmd/tracer).
//
// A [Session] finds the interpreter of each target, seeds the kernel ledger, places the probes, and hands out events
// until the targets end or the context does. Nothing is installed in a target, and however the tracer ends, the kernel
// removes every probe.
//
// Each duty of a session has a type of its own:
//
//   - kernelHalf is the parts of the ledger, each an interface; tests have fake ones.
//   - targets are the processes that are attached: roots, and Python children that run cells. An examiner
//     identifies a target and its Python, and gives it its instruments; placer puts probes on files and takes them out.
//   - intake receives the records of the kernel half, and completes them with data that only user space has; eventQueue
//     keeps the events in their order until they are handed out.
//   - An instrument places the probes of one kind in one target, through its host: NumPy, windows, mmap, CUDA, PyTorch
//     and the dynamic linker, Arrow, malloc. Instruments for libraries keep their files in libraryFiles.
//   - budget prices hits, and steps groups of probes down and up; searches look for the arrays that were allocated or
//     freed while the probes on NumPy were out.
//   - interpreters and modulesAhead analyse the files of Pythons and of NumPy once for all targets; analyses keeps the
//     results, also for later sessions.
//   - running, past, cells, codes and natives know the cells that ran at the attach and before it, the texts of cells,
//     code objects and machine code, for lines and stacks.
//   - devices maps CUDA devices to GPUs, charges asks NVML's helper for the GPU memory of each process, and counters
//     reads the processors' counters.
//   - lines connects the lines that notebooks ask for, in the background; package companion answers on them between
//     two batches of events.
//   - limits are the limits that the session sets, and watches are those that exist; they name the one that was hit
//     when a process ends.
//   - glances and Looks serve a viewer of a session: boundaries at which nothing happens, and one look at a time at a
//     Python's objects, in parallel with the session. A look that a notebook asks for is an [event.Looked], which no
//     recording has.
//   - overlooked and certificate record which Pythons were not examined, which probes served, and what may be missing.
//   - allowance keeps the tracer within its own memory limit: smaller tables first, then no lines and holders, then the
//     end of the session, always with a report.
//   - windup orders the end (last boundaries, then the last look), and lastLook is that look: holders, variables, the
//     location of resident memory.
package tracer
