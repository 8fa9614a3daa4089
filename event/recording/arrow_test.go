package recording

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"ipytracer/event"
)

// TestArrowGoReadsIt has another implementation read and validate the output of this package's encoder.
func TestArrowGoReadsIt(t *testing.T) {
	f := distinct()
	events := append(filled(f), session()...)
	for _, c := range changes(9000) {
		events = append(events, &c)
	}
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	r, err := ipc.NewReader(bytes.NewReader(record(t, events, 0)), ipc.WithAllocator(mem))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	checkSchema(t, r.Schema())
	row := 0
	for r.Next() {
		rec := r.RecordBatch()
		for i := range int(rec.NumCols()) {
			if err := validate(rec.Column(i)); err != nil {
				t.Fatalf("column %s: %v", rec.ColumnName(i), err)
			}
		}
		var devices []int // rows that belong to the one behind them
		for i := range int(rec.NumRows()) {
			if rec.Column(colKind).(*array.String).Value(i) == kindDevice {
				devices = append(devices, i)
				continue
			}
			checkRow(t, rec, i, devices, events[row])
			devices = nil
			row++
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if row != len(events) {
		t.Fatalf("%d rows, want %d", row, len(events))
	}
}

func validate(a arrow.Array) error {
	if v, ok := a.(interface{ ValidateFull() error }); ok {
		return v.ValidateFull()
	}
	return nil
}

func checkSchema(t *testing.T, s *arrow.Schema) {
	t.Helper()
	if s.NumFields() != colCount {
		t.Errorf("%d columns, want %d", s.NumFields(), colCount)
	}
	for i, f := range fields {
		if got := s.Field(i); got.Name != f.name || got.Nullable == f.required {
			t.Errorf("column %d is %v, want %v", i, got, f)
		}
	}
	if v, _ := s.Metadata().GetValue(keyFormat); v != strconv.Itoa(Format) {
		t.Errorf("format %q", v)
	}
	if v, _ := s.Metadata().GetValue(keyVersion); v != "1.2.3" {
		t.Errorf("version %q", v)
	}
}

func checkRow(t *testing.T, rec arrow.RecordBatch, row int, devices []int, e event.Event) {
	t.Helper()
	switch e := e.(type) {
	case *event.Change:
		checkChange(t, arrowRow{rec, row}, e)
	case *event.Boundary:
		checkBoundary(t, arrowRow{rec, row}, devices, e)
	case *event.Start:
		if detail := (arrowRow{rec, row}).text(colDetail); !strings.HasPrefix(detail, `{"host":{"name":`) {
			t.Errorf("row %d: detail %s", row, detail)
		}
	}
}

// arrowRow is one row as an Arrow library reads it.
type arrowRow struct {
	rec arrow.RecordBatch
	row int
}

func (c arrowRow) text(column int) string { return c.rec.Column(column).(*array.String).Value(c.row) }
func (c arrowRow) i64(column int) int64   { return c.rec.Column(column).(*array.Int64).Value(c.row) }

// truth is false where the column is null.
func (c arrowRow) truth(column int) bool {
	return c.rec.Column(column).IsValid(c.row) && c.rec.Column(column).(*array.Boolean).Value(c.row)
}

func checkChange(t *testing.T, c arrowRow, e *event.Change) {
	t.Helper()
	rec, row := c.rec, c.row
	got := event.Change{
		Stream:  rec.Column(colStream).(*array.Uint64).Value(row),
		Segment: rec.Column(colSegment).(*array.Uint64).Value(row),
		Time:    event.Nanoseconds(c.i64(colTime)),
		Root:    rec.Column(colRoot).(*array.Uint32).Value(row),
		PID:     rec.Column(colPID).(*array.Int32).Value(row),
		TID:     rec.Column(colTID).(*array.Int32).Value(row),
		Meter:   e.Meter,
		Value:   event.Bytes(c.i64(colValue)),
	}
	got.Learned, got.Block, got.Collected = c.truth(colLearned), c.truth(colBlock), c.truth(colCollected)
	got.Sample, got.Unchained, got.Found = c.truth(colSample), c.truth(colUnchained), c.truth(colFound)
	if c.truth(colBetween) {
		got.Passed = 1
	}
	if rec.Column(colPassed).IsValid(row) {
		got.Passed = uint8(rec.Column(colPassed).(*array.Uint32).Value(row))
	}
	if rec.Column(colStandsFor).IsValid(row) {
		got.StandsFor = event.Bytes(c.i64(colStandsFor))
	}
	if rec.Column(colSize).IsNull(row) != (e.Size == 0) || rec.Column(colNumber).IsValid(row) ||
		rec.Column(colText).IsValid(row) {
		t.Errorf("row %d: wrong nulls", row)
	}
	if e.Size != 0 {
		got.Size = event.Bytes(c.i64(colSize))
		got.Address = rec.Column(colAddress).(*array.Uint64).Value(row)
	}
	if rec.Column(colCaller).IsValid(row) {
		got.Caller, _ = event.ParseCaller(c.text(colCaller))
	}
	if rec.Column(colStack).IsValid(row) {
		got.Stack = rec.Column(colStack).(*array.Uint64).Value(row)
	}
	if c.text(colKind) != "change" || c.text(colMeter) != e.Meter.String() || got != *e {
		t.Fatalf("row %d:\n got %+v\nwant %+v", row, got, *e)
	}
}

func checkBoundary(t *testing.T, c arrowRow, devices []int, e *event.Boundary) {
	t.Helper()
	rec, row := c.rec, c.row
	text := cmp.Or(e.File, e.Exception, e.Experiment, e.Command, e.Descriptor, e.Probes, groups[e.Group])
	if c.text(colKind) != e.Kind.String() || c.text(colText) != text {
		t.Errorf("row %d: kind %q, text %q", row, c.text(colKind), c.text(colText))
	}
	for m := range event.Meter(event.CPUMeters) {
		if got := event.Bytes(c.i64(meterColumn(groupTreeHigh, m))); got != e.TreeHigh[m] {
			t.Errorf("row %d, %v: %d, want %d", row, m, got, e.TreeHigh[m])
		}
	}
	var said []int
	for n := range event.MaxDevices {
		for m := range event.DeviceMeter(event.DeviceMeters) {
			if at := event.OfDevice(n, m); e.Value[at] != 0 || e.High[at] != 0 || e.Tree[at] != 0 ||
				e.TreeHigh[at] != 0 {
				said = append(said, n)
				break
			}
		}
	}
	if len(devices) != len(said) {
		t.Fatalf("row %d: %d devices, want %v", row, len(devices), said)
	}
	for i, at := range devices {
		for m := range event.DeviceMeter(event.DeviceMeters) {
			want := e.TreeHigh[event.OfDevice(said[i], m)]
			got := event.Bytes(rec.Column(deviceColumn(groupTreeHigh, m)).(*array.Int64).Value(at))
			if number := rec.Column(colDevice).(*array.Uint32).Value(at); got != want || int(number) != said[i] {
				t.Errorf("row %d, device %d, %v: %d, want %d", at, number, m, got, want)
			}
		}
	}
}
