// Package attribution turns events into a session's findings: windows with their peaks, the code that allocated,
// verdicts, the proof. It is pure (no I/O, no clocks, no goroutines; the same events give the same report). Package
// words writes the text of a figure; package report prints it.
//
// The kernel ledger cuts time into segments (see bpf/ledger.h). A window is a run of whole segments, so its peak is the
// largest of its segments' maxima, and windows may nest and overlap freely. In addition, the peak of each window is
// computed a second time from the change stream. Where the stream is complete the two must agree, and the certificate
// reports whether they did.
//
// Types. An sequence takes in the events and ends segments. It passes boundaries to the activity, which opens and
// closes windows. Two interfaces follow: a ledger keeps blocks (a Tracker's is allocations, an Auditor's is audit, and
// an auditedBlocks has both behind one core), and a chart keeps the values of meters over time (a Tracker's is the
// timeline). A window that closes goes from closedWindows, where late changes still find it, into the windowTable as
// bytes. Figurer, symbolizer, lister, presenter and certifier make a report of these, and change nothing. Notes and
// problems are codes with their values until then. Types form an order in which each uses those below it: a window with
// its process is near the bottom, a core above its parts, a Tracker and an Auditor at the top.
//
// Lines. For each window the package keeps the bytes that each stack allocated, freed and held at the window's peak.
// The composition of a peak costs nothing until the peak is passed: a tally that has moved since the last highest total
// is noted, and copied when the total exceeds it. Changes are first put into the kernel's order. Live blocks with
// sampled lines have a stack number of their own, so each sum records whether it is an estimate.
//
// Long sessions. A boundary costs the same however many windows are open, and a window the same however many children
// there are. So readings are kept once for each process and tree, not in each open window: the values that open windows
// began with, and the maxima that can still be the highest since then, which are a falling sequence. A window keeps
// tallies only of the stacks that did something in it, and becomes bytes 128 windows after it closed; changes that come
// later count as lost. Stacks that hold nothing, now and at the session's peak, leave only their sums. Everything that
// a target, or a recording, can produce without end has a limit, and what exceeds it is counted. A printer decodes one
// window at a time.
//
// A Monitor follows one kernel for as long as it runs, beside many others, and keeps no window that it has handed out.
// A profiler is a Monitor with stacks: it has the same ledger of blocks, with a small room, and forgets stacks.
//
// Audits keep other data of the same events: each live block with its birth (the cell, the statement, and how that
// ended), and of freed blocks only those that were freed while no cell ran or as a later cell failed. Windows keep only
// their figures, so ten million events take 84 MiB. Verdicts are computed once, at the end: remaining blocks are
// grouped by the place in the code that allocated them, the same for all runs of a cell, and by their holder. A block
// that lies in a block of another meter counts once. The last frees of a process wait until another cell follows (they
// were late) or the process exits (the interpreter cleared everything away).
package attribution
