// Package attribution turns events into a session's findings. Findings are windows with their peaks, the code that
// allocated, verdicts, the proof. The package is pure (no I/O, no clocks, no goroutines; the same events give the same
// report). Package words writes the text of a figure; package report prints it.
//
// The kernel half cuts time into segments (see bpf/ledger.h). A window is a run of whole segments, so its peak is the
// largest of its segments' maxima, and windows may nest and overlap freely. In addition, the peak of each window is
// computed a second time from the change stream. Where the stream is complete the two must agree, and the certificate
// reports whether they did.
//
// # Trunk and rooms
//
// This package is the trunk. Its sequence takes in the events. At a boundary it ends a segment and has windows opened
// and closed; it hands each change on in the kernel's order; at the end it closes what is open. The rooms below
// internal/ form an order in which each uses those above it in this list:
//
//   - course: the values of meters over segments;
//   - stacks: the stacks that allocated, and the bytes that processes hold by stack;
//   - windows: the state of a session, its windows and processes, and windows as bytes once they closed long ago;
//   - activity: opens and closes windows, and tells one keeper of blocks about them;
//   - rows: the rows of a report, made of windows, which they do not change;
//   - blocks: the keeper of blocks of a [Tracker], and what a report lists of them;
//   - audit: the keeper of blocks of an [Auditor], and its verdicts;
//   - timeline: the curves of meters;
//   - glance: the present state of a session.
//
// newCore makes the parts of a session, each with all that it needs: nothing is set afterwards.
//
// # Lines
//
// For each window the package keeps a tally of each stack: the bytes that it allocated, freed and held at the window's
// peak. While a meter rises, nothing is copied. At a new highest total, only the tallies that moved since the last one
// are copied. Sampled blocks have a stack number of their own, so each sum records whether it is an estimate.
//
// # Long sessions
//
// A boundary costs the same however many windows are open, and a window the same however many children there are. So
// readings are kept once for each process and tree, not in each open window: the values that open windows began with,
// and the maxima that can still be the highest since then, which are a falling sequence. A window keeps tallies only of
// the stacks that did something in it, and becomes bytes 128 windows after it closed; changes that come later count as
// lost. Stacks that hold nothing, now and at the session's peak, leave only their sums. Everything that a target, or a
// recording, can produce without end has a limit, and what exceeds it is counted. A printer decodes one window at a
// time.
//
// A Monitor follows one kernel for as long as it runs, beside many others, and keeps no window that it has handed out.
// A profiler is a Monitor with stacks: it keeps blocks in a small room, and forgets stacks.
//
// # Audits
//
// An audit keeps each live block with its birth (the cell, the statement, and how that ended), and of freed blocks only
// those that were freed while no cell ran or as a later cell failed. Of windows it needs only the figures, so ten
// million events take 84 MiB. Verdicts are computed once, at the end: remaining blocks are grouped by the place in the
// code that allocated them, the same for all runs of a cell, and by their holder. A block that lies in a block of
// another meter counts once. The last frees of a process wait until another cell follows (they were late) or the
// process exits (the interpreter cleared everything away).
package attribution
