// Package recording writes and reads recordings. A recording has the events of one run of the tracer, in an append-only
// file that survives a crash at any byte. Package internal/host/invoker decides the file's place and owner, and package
// attribution the meaning of the events.
//
// A recording is an Arrow IPC stream of one wide table, one row per event, so pandas and everything else that reads
// Arrow opens it without ipytracer (docs/recording.md). A batch of rows is one message. Every message carries a CRC-32C
// of itself: a batch that did not reach the disk whole is never accepted.
//
// The encoder and the decoder are this package's own. A Change fills eleven of some fifty columns, and an Arrow column
// without values still stores them; here such a column is a zstd frame of thirteen bytes. The decoder trusts nothing in
// the file: a hostile file costs no more memory than the limits below, and never a panic.
package recording

import (
	"errors"
	"hash/crc32"

	"ipytracer/event"
)

// Format is the version of the format that this package writes, and the newest that it reads. Format 2 added GPUs, 3
// Python stacks, 4 native frames, lines of mapped memory, the heap, and the holders of memory that was left, 5 tensors
// on the CPU and the time behind a cell's result, 6 limits of processes and their ends. Since then each new meter
// raises it: see [event.Facts].
var Format = newestFormat()

// formatOfRows is the newest format that changed anything but the meters.
const formatOfRows = 6

func newestFormat() int {
	newest := formatOfRows
	for _, f := range event.Meters() {
		newest = max(newest, f.Format)
	}
	return newest
}

// ReasonCut is the Reason of the Finish that a [Reader] adds to a recording without a Finish.
const ReasonCut = event.FinishCut

var (
	// ErrNotRecording says that a file does not begin like a recording.
	ErrNotRecording = errors.New("not an ipytracer recording")
	// ErrVersion says that a recording was made by a newer tracer.
	ErrVersion = errors.New("recording made by a newer tracer")
	// ErrEvent says that an event cannot be recorded: its kind, meter or outcome has no name, or a text is too long.
	// The recording goes on without the event.
	ErrEvent = errors.New("event cannot be recorded")

	errDamaged = errors.New("damaged")
)

// Limits. The writer's limits are far below the reader's.
const (
	maxRows       = 4096 // rows the writer holds before it flushes by itself
	maxEventRows  = 1 + event.MaxDevices
	maxPending    = 1 << 20  // bytes of text the writer holds before it flushes by itself
	maxText       = 16 << 20 // longest text of one event
	maxReadRows   = 1 << 16
	maxReadText   = 64 << 20 // all texts of one batch
	maxReadMeta   = 1 << 20
	maxReadBody   = 128 << 20
	maxReadFields = 1024
	maxRoots      = 1 << 16
)

const (
	keyFormat  = "ipytracer.format"
	keyVersion = "ipytracer.version"
	keyCRC     = "ipytracer.crc32c"
	keyNumber  = "ipytracer.number" // of messages: 0, 1, 2 …; older recordings lack it
	blankCRC   = "00000000"
	maxKey     = 64
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
