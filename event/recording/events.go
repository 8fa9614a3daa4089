package recording

import (
	"fmt"
	"math"

	"ipytracer/event"
)

// event returns the event in a row. It fails with errDamaged for a row that no writer writes.
func (b *batch) event(row int) (e event.Event, err error) {
	defer recoverDamage(&err)
	kind := b.columns[colKind].text(row)
	detail := b.columns[colDetail].text(row)
	if b.countText(row) > maxText {
		return nil, fmt.Errorf("%w: a text of more than %d bytes", errDamaged, maxText)
	}
	switch string(kind) {
	case kindChange:
		return b.change(row)
	case kindReading:
		return b.reading(row), nil
	case kindDevice:
		return b.device(row)
	case kindRefusal:
		return b.refusal(row)
	case kindForeign:
		return b.foreign(row)
	case kindCellSource:
		return b.cellSource(row), nil
	case kindStack:
		number, pid := b.u64(colStack, row), int32(b.u32(colPID, row))
		if stack := b.stack(detail, number, pid); stack != nil {
			return stack, nil
		}
		e, err = stackFromJSON(detail, number, pid)
	case kindHolders:
		e, err = holdersFromJSON(detail, b.time(colTime, row), int32(b.u32(colPID, row)))
	case kindVariables:
		e, err = variablesFromJSON(detail, b.time(colTime, row), int32(b.u32(colPID, row)))
	case kindResident:
		e, err = residentFromJSON(detail, b.time(colTime, row), int32(b.u32(colPID, row)))
	case kindLimits:
		e, err = limitsFromJSON(detail, b.time(colTime, row), int32(b.u32(colPID, row)))
	case kindEnding:
		e, err = endingFromJSON(detail, b.time(colTime, row), int32(b.u32(colPID, row)))
	case kindStart:
		e, err = startFromJSON(detail)
	case kindProcess:
		e, err = processFromJSON(detail)
	case kindFinish:
		e, err = finishFromJSON(detail)
	default:
		return b.boundary(row, string(kind))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errDamaged, kind, err)
	}
	return e, nil
}

// lull reports whether a Lull comes before a row. It reports false for a damaged row; event then returns the error.
func (b *batch) lull(row int) (isAfterLull bool) {
	var err error
	defer recoverDamage(&err)
	return b.columns[colLull].truth(row)
}

func (b *batch) u64(c, row int) uint64             { return b.columns[c].get64(row) }
func (b *batch) u32(c, row int) uint32             { return b.columns[c].get32(row) }
func (b *batch) bytes(c, row int) event.Bytes      { return event.Bytes(b.columns[c].get64(row)) }
func (b *batch) time(c, row int) event.Nanoseconds { return event.Nanoseconds(b.columns[c].get64(row)) }

// streamed reads the columns that all rows of the change stream have.
func (b *batch) streamed(row int) (s streamed, err error) {
	name := b.columns[colMeter].text(row)
	meter, ok := event.ParseMeter(string(name))
	if !ok {
		return s, fmt.Errorf("%w: unknown meter %.60q", errDamaged, name)
	}
	return streamed{
		b.u64(colStream, row), b.u64(colSegment, row), b.time(colTime, row), b.u32(colRoot, row),
		int32(b.u32(colPID, row)), int32(b.u32(colTID, row)), meter,
	}, nil
}

func (b *batch) change(row int) (event.Event, error) {
	s, err := b.streamed(row)
	if err != nil {
		return nil, err
	}
	c := b.chunk.change()
	*c = event.Change{
		Stream: s.stream, Segment: s.segment, Time: s.time, Root: s.root, PID: s.pid, TID: s.tid, Meter: s.meter,
		Value:     b.bytes(colValue, row),
		Size:      b.bytes(colSize, row),
		Address:   b.u64(colAddress, row),
		Learned:   b.columns[colLearned].truth(row),
		Passed:    b.passed(row),
		Collected: b.columns[colCollected].truth(row),
		Sample:    b.columns[colSample].truth(row),
		StandsFor: b.bytes(colStandsFor, row),
		Unchained: b.columns[colUnchained].truth(row),
		Found:     b.columns[colFound].truth(row),
		Block:     b.columns[colBlock].truth(row),
		Caller:    b.caller(row),
		Stack:     b.u64(colStack, row),
	}
	return c, nil
}

// passed returns the largest number of boundaries that a change may have passed. Older recordings have no such number,
// and mean one.
func (b *batch) passed(row int) uint8 {
	if !b.columns[colBetween].truth(row) {
		return 0
	}
	return uint8(min(max(b.u32(colPassed, row), 1), math.MaxUint8))
}

func (b *batch) refusal(row int) (event.Event, error) {
	s, err := b.streamed(row)
	if err != nil {
		return nil, err
	}
	return &event.Refusal{
		Stream: s.stream, Segment: s.segment, Time: s.time, Root: s.root, PID: s.pid, TID: s.tid, Meter: s.meter,
		Held:   b.bytes(colValue, row),
		Asked:  b.bytes(colSize, row),
		Detail: b.u64(colAddress, row),
		Caller: b.caller(row),
		Stack:  b.u64(colStack, row),
	}, nil
}

// caller returns the caller that a row names; 0 for a name that only newer tracers know.
func (b *batch) caller(row int) event.Caller {
	c, _ := event.ParseCaller(string(b.columns[colCaller].text(row)))
	return c
}

func (b *batch) foreign(row int) (event.Event, error) {
	s, err := b.streamed(row)
	if err != nil {
		return nil, err
	}
	return &event.Foreign{
		Stream: s.stream, Segment: s.segment, Time: s.time, Root: s.root, PID: s.pid, TID: s.tid, Meter: s.meter,
		Open:    int64(b.u64(colValue, row)),
		Closed:  b.bytes(colSize, row) < 0,
		Address: b.u64(colAddress, row),
	}, nil
}

// device is a row with the meters of a GPU. It is no event of its own: the values belong to the boundary or reading in
// the next row of another kind.
type device struct {
	event.Event
	n      int                                // the number of the GPU
	groups [4][event.DeviceMeters]event.Bytes // by group of meter columns
}

func (b *batch) device(row int) (event.Event, error) {
	d := &device{n: int(b.u32(colDevice, row))}
	if d.n >= event.MaxDevices {
		return nil, fmt.Errorf("%w: device %d", errDamaged, d.n)
	}
	for group := range d.groups {
		for m := range event.DeviceMeter(event.DeviceMeters) {
			d.groups[group][m] = b.bytes(deviceColumn(group, m), row)
		}
	}
	return d, nil
}

// copyDeviceValues copies the meters of GPUs into the readings of an event. The readings are in the order of the
// groups.
func copyDeviceValues(devices []*device, readings ...*event.Readings) {
	for _, d := range devices {
		for group, r := range readings {
			for m := range event.DeviceMeter(event.DeviceMeters) {
				r[event.OfDevice(d.n, m)] = d.groups[group][m]
			}
		}
	}
}

func (b *batch) boundary(row int, name string) (event.Event, error) {
	kind, ok := event.ParseBoundaryKind(name)
	if !ok {
		return nil, fmt.Errorf("%w: unknown kind %.60q", errDamaged, name)
	}
	outcome := event.OutcomeUnknown
	if text := b.columns[colOutcome].text(row); text != nil {
		if outcome, ok = parseOutcome(string(text)); !ok {
			return nil, fmt.Errorf("%w: unknown outcome %.60q", errDamaged, text)
		}
	}
	e := b.chunk.boundary()
	e.Number = b.u64(colNumber, row)
	e.Time = b.time(colTime, row)
	e.Kind = kind
	e.Root = b.u32(colRoot, row)
	e.PID = int32(b.u32(colPID, row))
	e.TID = int32(b.u32(colTID, row))
	e.Parent = int32(b.u32(colParent, row))
	e.Cell = b.u64(colCell, row)
	e.Outer = b.u64(colOuter, row)
	e.Segment = b.u64(colSegment, row)
	e.Stream = b.u64(colStream, row)
	e.Inputs = int64(b.u64(colInputs, row))
	e.Line = int32(b.u32(colLine, row))
	e.Outcome = outcome
	e.Late = b.columns[colLate].truth(row)
	e.CPUTime = b.time(colCPUTime, row)
	for c := range e.Counters {
		e.Counters[c] = 0
		if column := &b.columns[colFirstCounter+c]; !column.null(row) {
			e.Counters[c] = column.get64(row) + 1
		}
	}
	b.container(row, &e.Container)
	e.Swapped = b.bytes(colSwapped, row)
	b.frees(row, e)
	b.readings(groupValue, row, &e.Value)
	b.readings(groupHigh, row, &e.High)
	b.readings(groupTree, row, &e.Tree)
	b.readings(groupTreeHigh, row, &e.TreeHigh)
	setText(e, b.copyOfText(row))
	b.doubts(row, &e.Doubts)
	return e, nil
}

func (b *batch) frees(row int, e *event.Boundary) {
	for kind, c := range unknownColumns {
		e.Unknown[kind] = b.u64(c.unknown, row)
		if c.slack != none {
			e.Slack[kind] = b.bytes(c.slack, row)
		}
		if c.unsure != none {
			e.Unsure[kind] = b.bytes(c.unsure, row)
		}
	}
}

func (b *batch) doubts(row int, d *event.Doubts) {
	for kind := range d.Refused {
		d.Refused[kind] = b.u64(colFirstRefused+kind, row)
	}
	for kind := range d.Missing {
		d.Missing[kind] = b.bytes(colFirstMissing+kind, row)
	}
	d.Untraced, d.UntracedNow = b.u64(colUntraced, row), b.u64(colUntracedNow, row)
}

func (b *batch) reading(row int) event.Event {
	r := &event.Reading{
		Number: b.u64(colNumber, row), Root: b.u32(colRoot, row), PID: int32(b.u32(colPID, row)),
		Since: b.u64(colSegment, row),
	}
	b.readings(groupValue, row, &r.Value)
	b.readings(groupHigh, row, &r.High)
	return r
}

func (b *batch) cellSource(row int) event.Event {
	return &event.CellSource{
		Cell:      b.u64(colCell, row),
		PID:       int32(b.u32(colPID, row)),
		Text:      b.copyOfText(row),
		Truncated: b.columns[colTruncated].truth(row),
	}
}

func (b *batch) readings(group, row int, to *event.Readings) {
	for m := range event.Meter(event.CPUMeters) {
		to[m] = b.bytes(meterColumn(group, m), row)
	}
}

// countText adds the bytes of a row's two texts to taken, and returns the length of the longer text.
func (b *batch) countText(row int) (longest int) {
	detail, text := len(b.columns[colDetail].text(row)), len(b.bytesOf(row))
	b.taken += detail + text
	return max(detail, text)
}

// bytesOf returns the text of a row with its original bytes. Text that is not valid UTF-8 has a column for them.
func (b *batch) bytesOf(row int) []byte {
	if raw := b.columns[colTextBytes].text(row); raw != nil {
		return raw
	}
	return b.columns[colText].text(row)
}

// copyOfText returns a copy of the text of [batch.bytesOf].
func (b *batch) copyOfText(row int) string { return string(b.bytesOf(row)) }
