package ledger

import (
	"encoding/binary"
	"math"
	"os"
	"strings"
	"unicode/utf16"
	"unsafe"

	"ipytracer/event"
)

// view interprets a raw record as a generated type; ok only if the size is exactly that of the type.
func view[T any](raw []byte) (*T, bool) {
	if len(raw) != int(unsafe.Sizeof(*new(T))) {
		return nil, false
	}
	return (*T)(unsafe.Pointer(unsafe.SliceData(raw))), true
}

// viewPrefix interprets the beginning of a raw record as a generated type; ok only if the record is as long as the
// type.
func viewPrefix[T any](raw []byte) (*T, bool) {
	if len(raw) < int(unsafe.Sizeof(*new(T))) {
		return nil, false
	}
	return (*T)(unsafe.Pointer(unsafe.SliceData(raw))), true
}

// changeFlags are the flags of a change, which share a field with its meter.
const changeFlags = kernelChangeFlagCHANGE_REFUSED | kernelChangeFlagCHANGE_FOREIGN | kernelChangeFlagCHANGE_LEARNED |
	kernelChangeFlagCHANGE_BLOCK | kernelChangeFlagCHANGE_COLLECTED | kernelChangeFlagCHANGE_SAMPLE |
	kernelChangeFlagCHANGE_UNCHAINED | kernelChangeFlagCHANGE_FOUND

// deviceMeters is the number of meters of a GPU that the kernel keeps; they are the first ones of package event.
const deviceMeters = uint32(kernelDeviceMeterDEVICE_METERS)

func decodeMeter(raw uint32) event.Meter {
	m := raw &^ uint32(changeFlags) & (uint32(kernelChangeFlagCHANGE_CALLER) - 1)
	if m < event.CPUMeters {
		return event.Meter(m)
	}
	device, kind := (m-event.CPUMeters)/deviceMeters, (m-event.CPUMeters)%deviceMeters
	if device >= event.MaxDevices {
		return 0
	}
	return event.OfDevice(int(device), event.DeviceMeter(kind))
}

func decodeCaller(raw uint32) event.Caller {
	return event.Caller(raw / uint32(kernelChangeFlagCHANGE_CALLER))
}

// decodeInterval returns the interval of a sample that the process has drawn itself, in bytes; 0 for another one. A
// target can write any, so it is bounded.
func decodeInterval(raw uint32) float64 {
	const least, most = 1 << 10, 20 // see python/src/ipytracer/counts/samples.c
	drawn := raw / uint32(kernelChangeFlagCHANGE_CALLER) & 0x1f
	if drawn == 0 {
		return 0
	}
	return math.Ldexp(least, int(min(drawn-1, most)))
}

// standsFor returns how many bytes a sample stands for. A block is one with a probability of 1 - exp(-size / interval).
func standsFor(size event.Bytes, interval float64) event.Bytes {
	bytes := math.Abs(float64(size))
	if interval == 0 || bytes == 0 {
		return 0
	}
	return event.Bytes(math.Round(bytes / -math.Expm1(-bytes/interval)))
}

func decodeChange(c *kernelChange) event.Change {
	has := func(f kernelChangeFlag) bool { return c.Meter&uint32(f) != 0 }
	change := event.Change{
		Stream: c.Stream, Segment: c.Segment, Time: event.Nanoseconds(c.Time), Root: c.Root, PID: c.Pid, TID: c.Tid,
		Meter: decodeMeter(c.Meter), Value: event.Bytes(c.Value), Size: event.Bytes(c.Size), Address: c.Address,
		Stack:     c.Stack,
		Caller:    decodeCaller(c.Meter),
		Block:     has(kernelChangeFlagCHANGE_BLOCK),
		Passed:    uint8(c.Meter / uint32(kernelChangeFlagCHANGE_PASSED)),
		Learned:   has(kernelChangeFlagCHANGE_LEARNED),
		Collected: has(kernelChangeFlagCHANGE_COLLECTED),
		Sample:    has(kernelChangeFlagCHANGE_SAMPLE),
		Unchained: has(kernelChangeFlagCHANGE_UNCHAINED),
		Found:     has(kernelChangeFlagCHANGE_FOUND),
	}
	switch {
	case change.Sample && (change.IsTouch() || change.IsCopy()):
		change.Size, change.StandsFor = event.Bytes(os.Getpagesize()), max(1, min(change.Size, event.MaxStandsFor))
	case change.Sample:
		change.Caller, change.StandsFor = 0, standsFor(change.Size, decodeInterval(c.Meter))
	}
	return change
}

func decodeRefusal(c *kernelChange) event.Refusal {
	return event.Refusal{
		Stream: c.Stream, Segment: c.Segment, Time: event.Nanoseconds(c.Time), Root: c.Root, PID: c.Pid, TID: c.Tid,
		Meter: decodeMeter(c.Meter), Asked: event.Bytes(c.Size), Held: event.Bytes(c.Value), Detail: c.Address,
		Caller: decodeCaller(c.Meter), Stack: c.Stack,
	}
}

func decodeForeign(c *kernelChange) event.Foreign {
	return event.Foreign{
		Stream: c.Stream, Segment: c.Segment, Time: event.Nanoseconds(c.Time), Root: c.Root, PID: c.Pid, TID: c.Tid,
		Meter: decodeMeter(c.Meter), Open: c.Value, Closed: c.Size < 0, Address: c.Address,
	}
}

func decodeCode(c *kernelCode) Code {
	size, lines := int(c.TableSize), c.Lines[:min(int(c.TableSize), len(c.Lines))]
	if c.TableSize >= tableUnreadable {
		size, lines = -1, nil
	}
	return Code{
		PID: c.Header.Pid, Number: c.Number, FirstLine: c.FirstLine,
		File:  DecodeText(c.File[:min(int(c.FileSize), len(c.File))], c.FileKind),
		Name:  DecodeText(c.Name[:min(int(c.NameSize), len(c.Name))], c.NameKind),
		Table: append([]byte(nil), lines...), TableAddress: c.Table, TableSize: size,
	}
}

// decodeStack reads a stack's record, which ends with its last frame. ok is false for one that is too short.
func decodeStack(raw []byte) (s Stack, ok bool) {
	var whole kernelStack
	const head = int(unsafe.Offsetof(whole.Frames))
	if len(raw) < head || len(raw) > int(unsafe.Sizeof(whole)) {
		return s, false
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&whole)), unsafe.Sizeof(whole)), raw)
	if head+int(whole.Count)*int(unsafe.Sizeof(whole.Frames[0])) > len(raw) {
		return s, false
	}
	s = Stack{PID: whole.Header.Pid, Number: whole.Number, More: whole.More != 0, Frames: make([]Frame, whole.Count)}
	for i, f := range whole.Frames[:whole.Count] {
		s.Frames[i] = Frame{Code: f.Code, At: f.At}
	}
	return s, true
}

// decodeSource reads a chunk of a text that begins at offset head.
func decodeSource(h *kernelHeader, raw []byte, head int) SourceChunk {
	word := func(at uintptr) int { return int(binary.LittleEndian.Uint32(raw[at:])) }
	size := word(unsafe.Offsetof(kernelSource{}.Size))
	return SourceChunk{
		Cell: h.Cell, PID: h.Pid, Offset: word(unsafe.Offsetof(kernelSource{}.Offset)),
		Kind:  uint32(word(unsafe.Offsetof(kernelSource{}.TextKind))),
		Total: word(unsafe.Offsetof(kernelSource{}.Total)), Text: raw[head:min(head+size, len(raw))],
	}
}

func decodeReading(b *kernelBoundary) event.Reading {
	return event.Reading{Number: b.Number, Root: b.Root, PID: b.Pid, Since: b.Since, Value: readings(b.Value),
		High: readings(b.High)}
}

func decodeBoundary(b *kernelBoundary) (event.Boundary, BoundaryExtra) {
	text := b.Text[:min(int(b.TextSize), len(b.Text))]
	out := event.Boundary{
		Number: b.Number, Time: event.Nanoseconds(b.Time), Kind: event.BoundaryKind(b.Kind), Root: b.Root,
		PID: b.Pid, TID: b.Tid, Parent: b.Parent, Cell: b.Cell, Outer: b.Outer, Segment: b.Segment, Stream: b.Stream,
		Inputs: b.Inputs, CPUTime: event.Nanoseconds(b.CpuTime), Outcome: event.Outcome(b.Outcome),
		Frees: event.Frees{Unknown: b.Unknown},
		Value: readings(b.Value), High: readings(b.High), Tree: readings(b.Tree), TreeHigh: readings(b.TreeHigh),
		Container: decodeContainer(b), Swapped: event.Bytes(max(b.Swapped, 0)),
	}
	for kind := range b.Unknown {
		out.Slack[kind], out.Unsure[kind] = event.Bytes(b.Slack[kind]), event.Bytes(b.Unsure[kind])
	}
	out.Doubts = decodeDoubts(b)
	extra := decodeUnions(b, &out)
	extra.Watched = b.Container.Watched
	if out.CPUTime > 0 && b.Counted != [event.KernelCounters]uint64{} { // a running program has had page faults
		for c, n := range b.Counted {
			out.Counters[c] = n + 1
		}
	}
	if out.Kind == event.StatementOpen {
		extra.LineTable = append([]byte(nil), text...)
	} else if field := out.Text(); field != nil {
		*field = DecodeText(text, b.TextKind)
	}
	if out.Kind == event.ProcessExec {
		out.Command = strings.ReplaceAll(strings.TrimRight(out.Command, "\x00"), "\x00", " ")
	}
	return out, extra
}

// decodeUnions decodes the unions of a boundary (bpf/wire.h) by its kind. A union has the name of its first member in
// Go: FirstLine, Outcome and Group.
func decodeUnions(b *kernelBoundary, out *event.Boundary) (extra BoundaryExtra) {
	late, told, namedPython := b.FirstLine != 0, b.FirstLine == outcomeTold, b.FirstLine != 0
	foreign, status, imports := Foreign(b.FirstLine), b.Outcome, Imports(b.Group)
	switch out.Kind {
	case event.CellOpen, event.ProcessStart:
		out.Late = late
	case event.StatementOpen:
		extra.FirstLine = b.FirstLine
	case event.CellResult, event.CellClose:
		extra.Told = told
	case event.ProcessExec:
		extra.NamedPython, extra.Imports = namedPython, imports
	case event.ProcessExit:
		extra.Status, extra.OutOfMemory = int32(status&0xffff), status&outcomeOutOfMemory != 0
		extra.Imports, out.Outcome = imports, event.OutcomeUnknown
	case event.MeterShed, event.MeterBack:
		extra.Group, extra.Foreign = Group(b.Group), foreign
		fallthrough
	case event.MeterSettled:
		out.CPUTime = 0 // it is the time of an earlier boundary, and no window begins or ends here
	}
	return extra
}

func decodeDoubts(b *kernelBoundary) event.Doubts {
	d := event.Doubts{Refused: b.Refused, Untraced: b.Untraced, UntracedNow: b.UntracedNow}
	for kind, size := range b.Missing {
		if d.Missing[kind] = event.Bytes(size); d.Missing[kind] >= event.Unbounded || size < 0 {
			d.Missing[kind] = event.Unbounded
		}
	}
	return d
}

func readings(raw [event.CPUMeters]int64) (out event.Readings) {
	for m, v := range raw {
		out[m] = event.Bytes(v)
	}
	return out
}

// DecodeText turns a str's characters into UTF-8: kind 1 is Latin-1, 2 UCS-2, 4 UCS-4 (CPython's PEP 393), any other
// kind is UTF-8. A value that is no character, such as a surrogate alone, becomes U+FFFD.
func DecodeText(raw []byte, kind uint32) string {
	var runes []rune
	switch kind {
	case 1:
		for _, b := range raw {
			runes = append(runes, rune(b))
		}
	case 2:
		for ; len(raw) >= 2; raw = raw[2:] {
			runes = append(runes, rune(binary.LittleEndian.Uint16(raw)))
		}
	case 4:
		for ; len(raw) >= 4; raw = raw[4:] {
			r := binary.LittleEndian.Uint32(raw)
			if r > 0x10ffff || utf16.IsSurrogate(rune(r)) {
				r = 0xfffd
			}
			runes = append(runes, rune(r))
		}
	default:
		return string(raw)
	}
	return string(runes)
}
