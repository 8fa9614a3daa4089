// Package tracer attaches to processes and is the live [event.Source]. It owns everything with a side effect, and
// orders the packages below it. It knows neither windows nor peaks (attribution) nor words for people (cmd/tracer).
//
// A [Session] finds the interpreter of each target, seeds the kernel ledger, places the probes, and hands out events
// until the targets end or the context does. Nothing is installed in a target, and however the tracer ends, the kernel
// removes every probe.
//
// The parts of a session are packages below tracer/internal:
//
//   - tracee has the targets, and the interfaces between the parts: an Instrument, the KernelHalf, the Certificate.
//   - instruments analyse files and place probes in them.
//   - budget prices hits, and pauses groups of probes.
//   - running knows cells, code objects and machine code, for lines and stacks.
//   - gpus maps CUDA devices to GPUs, and asks NVML's helper for the GPU memory of each process.
//   - lastlook looks at the objects of live Pythons at the end.
//
// This package puts them in order:
//
//   - An examiner identifies a target and its Python, and gives it its instruments.
//   - intake receives the records of the kernel half, and completes them with data that only user space has; eventQueue
//     keeps the events in their order until they are handed out.
//   - lineMaker connects the lines that notebooks ask for, in the background; package companion answers on them between
//     two batches of events.
//   - limits are the limits that the session sets; counters reads the processors' counters.
//   - glances and Looks serve a viewer of a session: boundaries at which nothing happens, and one look at a time at a
//     Python's objects, in parallel with the session. A look that a notebook asks for is an [event.Looked], which no
//     recording has.
//   - overlooked records which Pythons were not examined.
//   - allowance keeps the tracer within its own memory limit: smaller tables first, then no lines and holders, then the
//     end of the session, always with a report.
//   - windup orders the end: last boundaries, then the last look.
package tracer
