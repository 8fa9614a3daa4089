package recording

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"ipytracer/event"
)

// addRow adds the row of an event. It checks the event before it sets any column, so a refused event leaves no row.
func (w *Writer) addRow(e event.Event) error {
	switch e := e.(type) {
	case *event.Change:
		return w.addChange(e)
	case *event.Boundary:
		return w.addBoundary(e)
	case *event.Reading:
		w.addReading(e)
		return nil
	case *event.Refusal:
		return w.addRefusal(e)
	case *event.Foreign:
		return w.addForeign(e)
	case *event.CellSource:
		return w.addCellSource(e)
	case *event.Stack:
		return w.addStack(e)
	case *event.Holders:
		text, err := holdersToJSON(e)
		return w.addDetail(kindHolders, e.Time, e.PID, text, err)
	case *event.Variables:
		text, err := variablesToJSON(e)
		return w.addDetail(kindVariables, e.Time, e.PID, text, err)
	case *event.Residence:
		text, err := residentToJSON(e)
		return w.addDetail(kindResident, e.Time, e.PID, text, err)
	case *event.Limits:
		text, err := limitsToJSON(e)
		return w.addDetail(kindLimits, e.Time, e.PID, text, err)
	case *event.Ending:
		text, err := endingToJSON(e)
		return w.addDetail(kindEnding, e.Time, e.PID, text, err)
	case *event.Start:
		text, err := startToJSON(e)
		return w.addDetail(kindStart, e.Host.MonoNow, 0, text, err)
	case *event.Process:
		text, err := processToJSON(e)
		return w.addDetail(kindProcess, w.time, e.PID, text, err)
	case *event.Lull: // the next row has it; behind the last one it changes nothing
		w.lull = true
		return nil
	case *event.Settled:
		text, err := settledToJSON(e)
		return w.addDetail(kindFinish, e.Finish.Time, 0, text, err)
	case *event.Finish:
		text, err := finishToJSON(e)
		return w.addDetail(kindFinish, e.Time, 0, text, err)
	}
	return fmt.Errorf("%w: %T", ErrEvent, e)
}

// beginRow begins a row, and sets the columns that every row has. For an event without a time the caller passes the
// time of the event before, so that a table sorted by time keeps its order.
func (w *Writer) beginRow(kind string, time event.Nanoseconds, pid int32) *table {
	t := &w.table
	t.next()
	w.time = time
	t.setText(colKind, kind)
	t.set64(colTime, uint64(time))
	t.set32(colPID, uint32(pid))
	if w.lull {
		t.setBool(colLull, true)
		w.lull = false
	}
	return t
}

func (w *Writer) addChange(c *event.Change) error {
	t, err := w.beginStreamed(kindChange, streamed{c.Stream, c.Segment, c.Time, c.Root, c.PID, c.TID, c.Meter})
	if err != nil {
		return err
	}
	t.set64(colValue, uint64(c.Value))
	t.set64Unless0(colSize, uint64(c.Size))
	t.set64Unless0(colAddress, c.Address)
	if c.Learned {
		t.setBool(colLearned, true)
	}
	if c.Block {
		t.setBool(colBlock, true)
	}
	if c.Passed > 0 {
		t.setBool(colBetween, true)
	}
	if c.Passed > 1 {
		t.set32(colPassed, uint32(c.Passed))
	}
	if c.Collected {
		t.setBool(colCollected, true)
	}
	if c.Sample {
		t.setBool(colSample, true)
	}
	t.set64Unless0(colStandsFor, uint64(c.StandsFor))
	if c.Unchained {
		t.setBool(colUnchained, true)
	}
	if c.Found {
		t.setBool(colFound, true)
	}
	t.set64Unless0(colStack, c.Stack)
	t.setCaller(c.Caller)
	return nil
}

func (w *Writer) addRefusal(r *event.Refusal) error {
	t, err := w.beginStreamed(kindRefusal, streamed{r.Stream, r.Segment, r.Time, r.Root, r.PID, r.TID, r.Meter})
	if err != nil {
		return err
	}
	t.set64(colValue, uint64(r.Held))
	t.set64(colSize, uint64(r.Asked))
	t.set64Unless0(colAddress, r.Detail)
	t.set64Unless0(colStack, r.Stack)
	t.setCaller(r.Caller)
	return nil
}

func (t *table) setCaller(c event.Caller) {
	if name := c.String(); name != "" {
		t.setText(colCaller, name)
	}
}

func (w *Writer) addForeign(f *event.Foreign) error {
	t, err := w.beginStreamed(kindForeign, streamed{f.Stream, f.Segment, f.Time, f.Root, f.PID, f.TID, f.Meter})
	if err != nil {
		return err
	}
	t.set64(colValue, uint64(f.Open))
	if f.Closed {
		t.set64(colSize, ^uint64(0))
	} else {
		t.set64(colSize, 1)
	}
	t.set64Unless0(colAddress, f.Address)
	return nil
}

// streamed has the columns that all rows of the change stream have.
type streamed struct {
	stream, segment uint64
	time            event.Nanoseconds
	root            uint32
	pid, tid        int32
	meter           event.Meter
}

// beginStreamed begins a row of the change stream.
func (w *Writer) beginStreamed(kind string, s streamed) (*table, error) {
	if s.meter >= event.MeterCount {
		return nil, fmt.Errorf("%w: meter %d", ErrEvent, s.meter)
	}
	t := w.beginRow(kind, s.time, s.pid)
	t.set64(colStream, s.stream)
	t.set64(colSegment, s.segment)
	t.set32(colRoot, s.root)
	t.set32(colTID, uint32(s.tid))
	t.setText(colMeter, s.meter.String())
	return t, nil
}

// addDevices adds a row for each GPU with a value in one of the readings. The caller then adds the row to which these
// rows belong.
func (w *Writer) addDevices(number uint64, time event.Nanoseconds, pid int32, groups ...*event.Readings) {
	for n := range event.MaxDevices {
		first := event.OfDevice(n, 0)
		has := slices.ContainsFunc(groups, func(r *event.Readings) bool {
			values := [event.DeviceMeters]event.Bytes(r[first : first+event.DeviceMeters])
			return values != [event.DeviceMeters]event.Bytes{}
		})
		if !has {
			continue
		}
		t := w.beginRow(kindDevice, time, pid)
		t.set64(colNumber, number)
		t.set32(colDevice, uint32(n))
		for group, r := range groups {
			for m := range event.DeviceMeter(event.DeviceMeters) {
				t.set64(deviceColumn(group, m), uint64(r[event.OfDevice(n, m)]))
			}
		}
	}
}

func (w *Writer) addBoundary(b *event.Boundary) error {
	kind := b.Kind.String()
	if known, ok := event.ParseBoundaryKind(kind); !ok || known != b.Kind {
		return fmt.Errorf("%w: boundary kind %d", ErrEvent, b.Kind)
	}
	if int(b.Outcome) >= len(outcomeNames) {
		return fmt.Errorf("%w: outcome %d", ErrEvent, b.Outcome)
	}
	text := textOf(b)
	if err := checkText(text); err != nil {
		return err
	}
	w.addDevices(b.Number, b.Time, b.PID, &b.Value, &b.High, &b.Tree, &b.TreeHigh)
	t := w.beginRow(kind, b.Time, b.PID)
	t.set64(colNumber, b.Number)
	t.set64(colStream, b.Stream)
	t.set64(colSegment, b.Segment)
	t.set32(colRoot, b.Root)
	t.set32(colTID, uint32(b.TID))
	t.set32Unless0(colParent, uint32(b.Parent))
	t.set64Unless0(colCell, b.Cell)
	t.set64Unless0(colOuter, b.Outer)
	if b.Late {
		t.setBool(colLate, true)
	}
	t.set64Unless0(colInputs, uint64(b.Inputs))
	t.set32Unless0(colLine, uint32(b.Line))
	if b.Outcome != event.OutcomeUnknown {
		t.setText(colOutcome, outcomeNames[b.Outcome])
	}
	t.set64Unless0(colCPUTime, uint64(b.CPUTime))
	for c, n := range b.Counters {
		if n > 0 {
			t.set64(colFirstCounter+c, n-1)
		}
	}
	t.setContainer(&b.Container)
	t.set64Unless0(colSwapped, uint64(b.Swapped))
	t.setFrees(b)
	t.setDoubts(&b.Doubts)
	t.setReadings(groupValue, &b.Value)
	t.setReadings(groupHigh, &b.High)
	t.setReadings(groupTree, &b.Tree)
	t.setReadings(groupTreeHigh, &b.TreeHigh)
	t.setHostile(text)
	return nil
}

func (w *Writer) addReading(r *event.Reading) {
	w.addDevices(r.Number, w.time, r.PID, &r.Value, &r.High)
	t := w.beginRow(kindReading, w.time, r.PID)
	t.set64(colNumber, r.Number)
	t.set32Unless0(colRoot, r.Root)
	t.set64Unless0(colSegment, r.Since)
	t.setReadings(groupValue, &r.Value)
	t.setReadings(groupHigh, &r.High)
}

func (w *Writer) addCellSource(s *event.CellSource) error {
	if err := checkText(s.Text); err != nil {
		return err
	}
	t := w.beginRow(kindCellSource, w.time, s.PID)
	t.set64Unless0(colCell, s.Cell)
	t.setBool(colTruncated, s.Truncated)
	t.setHostile(s.Text)
	return nil
}

func (w *Writer) addStack(s *event.Stack) error {
	text, err := stackToJSON(s)
	if err := w.addDetail(kindStack, w.time, s.PID, text, err); err != nil {
		return err
	}
	w.table.set64(colStack, s.Number)
	return nil
}

func (w *Writer) addDetail(kind string, time event.Nanoseconds, pid int32, text []byte, err error) error {
	if err != nil {
		return fmt.Errorf("recording: %s: %w", kind, err)
	}
	if err := checkText(string(text)); err != nil {
		return err
	}
	w.beginRow(kind, time, pid).setText(colDetail, string(text))
	return nil
}

func (t *table) setReadings(group int, r *event.Readings) {
	for m := range event.Meter(event.CPUMeters) {
		t.set64(meterColumn(group, m), uint64(r[m]))
	}
}

func (t *table) setFrees(b *event.Boundary) {
	t.set64(colUnknown, b.Unknown[event.UnknownNumPy])
	t.set64(colSlack, uint64(b.Slack[event.UnknownNumPy]))
	for kind, c := range unknownColumns {
		if kind != int(event.UnknownNumPy) {
			t.set64Unless0(c.unknown, b.Unknown[kind])
			if c.slack != none {
				t.set64Unless0(c.slack, uint64(b.Slack[kind]))
			}
		}
		if c.unsure != none {
			t.set64Unless0(c.unsure, uint64(b.Unsure[kind]))
		}
	}
}

func (t *table) setDoubts(d *event.Doubts) {
	for kind, n := range d.Refused {
		t.set64Unless0(colFirstRefused+kind, n)
	}
	for kind, n := range d.Missing {
		t.set64Unless0(colFirstMissing+kind, uint64(n))
	}
	t.set64Unless0(colUntraced, d.Untraced)
	t.set64Unless0(colUntracedNow, d.UntracedNow)
}

// setHostile sets the column text to the bytes of a target, which may be invalid UTF-8. Arrow's text must be valid, so
// invalid bytes go unchanged to text.bytes, and text has U+FFFD in their place.
func (t *table) setHostile(s string) {
	if s == "" {
		return
	}
	if utf8.ValidString(s) {
		t.setText(colText, s)
		return
	}
	t.setText(colText, strings.ToValidUTF8(s, "\uFFFD"))
	t.setText(colTextBytes, s)
}

func checkText(s string) error {
	if len(s) > maxText {
		return fmt.Errorf("%w: a text of %d bytes, the limit is %d", ErrEvent, len(s), maxText)
	}
	return nil
}
