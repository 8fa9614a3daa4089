package recording

import (
	"fmt"

	"ipytracer/event"
)

// dataType is the Arrow type of a column. No format so far knows other types.
type dataType uint8

const (
	typeInt32 dataType = iota
	typeInt64
	typeUint32
	typeUint64
	typeBool
	typeUTF8
	typeBinary
)

func (t dataType) width() int {
	switch t {
	case typeInt32, typeUint32:
		return 4
	case typeInt64, typeUint64:
		return 8
	}
	return 0
}

func (t dataType) text() bool { return t == typeUTF8 || t == typeBinary }

// buffers returns the number of buffers that Arrow stores for a column of the type.
func (t dataType) buffers() int {
	if t.text() {
		return 3
	}
	return 2
}

// field is one column of the table.
type field struct {
	name     string
	typ      dataType
	required bool // never null
}

// The columns, in the order in which the writer writes them. A reader finds them by name.
const (
	colKind = iota
	colTime
	colNumber
	colStream
	colSegment
	colRoot
	colPID
	colTID
	colParent
	colCell
	colOuter
	colInputs
	colLine
	colOutcome
	colCPUTime
	colUnknown
	colSlack
	colMeter
	colValue
	colSize
	colAddress
	colText
	colTextBytes
	colTruncated
	colLate
	colDetail
	colDevice
	colUnknownDevice
	colLearned
	colCaller
	colStack
	colBetween
	colCollected
	colBlock
	colUnknownHeap
	colHeapSlack
	colUnsure
	colUnsureTorch
	colUnknownTorch
	colTorchSlack
	colUntraced
	colUntracedNow
	colPassed
	colSample
	colUnchained
	colFound
	colLull
	colStandsFor
	colFirstCounter
	colFirstRefused     = colFirstCounter + int(event.CounterCount)
	colFirstMissing     = colFirstRefused + int(event.RefusedKinds)
	colFirstMeter       = colFirstMissing + int(event.MissingKinds)
	colFirstDeviceMeter = colFirstMeter + 4*event.CPUMeters

	// Newer kinds of unknown frees have three columns each, one kind after another.
	colFirstLater = colFirstDeviceMeter + 4*event.DeviceMeters
	firstLater    = event.UnknownDevice + 1

	colFirstContainer = colFirstLater + 3*int(event.UnknownKinds-firstLater)
	colSwapped        = colFirstContainer + containerColumns
	colCount          = colSwapped + 1
)

// freesColumns are the columns of a kind of unknown frees: their number, an upper bound of their bytes, and the error
// bound of the meters from pauses of their probes.
type freesColumns struct{ unknown, slack, unsure int }

// none stands for a column that a kind does not have.
const none = -1

var unknownColumns = columnsOfFrees()

func columnsOfFrees() (columns [event.UnknownKinds]freesColumns) {
	for kind := firstLater; kind < event.UnknownKinds; kind++ {
		first := colFirstLater + 3*int(kind-firstLater)
		columns[kind] = freesColumns{first, first + 1, first + 2}
	}
	columns[event.UnknownNumPy] = freesColumns{colUnknown, colSlack, colUnsure}
	columns[event.UnknownTorch] = freesColumns{colUnknownTorch, colTorchSlack, colUnsureTorch}
	columns[event.UnknownHeap] = freesColumns{colUnknownHeap, colHeapSlack, none}
	columns[event.UnknownDevice] = freesColumns{colUnknownDevice, none, none}
	return columns
}

// The four groups of meter columns: of the process and of its tree, at the instant and since the boundary before.
const (
	groupValue = iota
	groupHigh
	groupTree
	groupTreeHigh
)

func meterColumn(group int, m event.Meter) int {
	return colFirstMeter + group*event.CPUMeters + int(m)
}

// deviceColumn returns the column of a meter in a device's row.
func deviceColumn(group int, m event.DeviceMeter) int {
	return colFirstDeviceMeter + group*event.DeviceMeters + int(m)
}

var fields = tableFields()

// singleFields are the columns that exist once. [tableFields] adds those that exist for each counter, kind or meter.
var singleFields = [colCount]field{
	colKind:          {"kind", typeUTF8, true},
	colTime:          {"time_ns", typeInt64, true},
	colNumber:        {"number", typeUint64, false},
	colStream:        {"stream", typeUint64, false},
	colSegment:       {"segment", typeUint64, false},
	colRoot:          {"root", typeUint32, false},
	colPID:           {"pid", typeInt32, true},
	colTID:           {"tid", typeInt32, false},
	colParent:        {"parent", typeInt32, false},
	colCell:          {"cell", typeUint64, false},
	colOuter:         {"outer", typeUint64, false},
	colInputs:        {"inputs", typeInt64, false},
	colLine:          {"line", typeInt32, false},
	colOutcome:       {"outcome", typeUTF8, false},
	colCPUTime:       {"cpu_time_ns", typeInt64, false},
	colUnknown:       {"unknown_frees", typeUint64, false},
	colSlack:         {"slack", typeInt64, false},
	colMeter:         {"meter", typeUTF8, false},
	colValue:         {"value", typeInt64, false},
	colSize:          {"size", typeInt64, false},
	colAddress:       {"address", typeUint64, false},
	colText:          {"text", typeUTF8, false},
	colTextBytes:     {"text.bytes", typeBinary, false},
	colTruncated:     {"truncated", typeBool, false},
	colLate:          {"late", typeBool, false},
	colDetail:        {"detail", typeUTF8, false},
	colDevice:        {"device", typeUint32, false},
	colUnknownDevice: {"unknown_device_frees", typeUint64, false},
	colCaller:        {"caller", typeUTF8, false},
	colLearned:       {"learned", typeBool, false},
	colStack:         {"stack", typeUint64, false},
	colBetween:       {"between", typeBool, false},
	colCollected:     {"collected", typeBool, false},
	colBlock:         {"block", typeBool, false},
	colUnknownHeap:   {"unknown_heap_frees", typeUint64, false},
	colHeapSlack:     {"heap_slack", typeInt64, false},
	colUnsure:        {"unsure", typeInt64, false},
	colUnsureTorch:   {"unsure_torch", typeInt64, false},
	colUnknownTorch:  {"unknown_torch_frees", typeUint64, false},
	colTorchSlack:    {"torch_slack", typeInt64, false},
	colUntraced:      {"untraced", typeUint64, false},
	colUntracedNow:   {"untraced_now", typeUint64, false},
	colPassed:        {"passed", typeUint32, false},
	colSample:        {"sample", typeBool, false},
	colUnchained:     {"unchained", typeBool, false},
	colFound:         {"found", typeBool, false},
	colLull:          {"lull", typeBool, false},
	colStandsFor:     {"stands_for", typeInt64, false},
}

func tableFields() [colCount]field {
	all := singleFields
	for c := range event.CounterCount {
		all[colFirstCounter+int(c)] = field{name: c.String(), typ: typeUint64}
	}
	for kind, name := range [event.RefusedKinds]string{"statements", "markers", "boundaries", "readings"} {
		all[colFirstRefused+kind] = field{name: "refused." + name, typ: typeUint64}
	}
	for kind := range event.MissingKind(event.MissingKinds) {
		all[colFirstMissing+int(kind)] = field{name: "missing." + kind.String(), typ: typeInt64}
	}
	for kind := firstLater; kind < event.UnknownKinds; kind++ {
		c, name := unknownColumns[kind], kind.String()
		all[c.unknown] = field{name: "unknown_" + name + "_frees", typ: typeUint64}
		all[c.slack] = field{name: name + "_slack", typ: typeInt64}
		all[c.unsure] = field{name: "unsure_" + name, typ: typeInt64}
	}
	copy(all[colFirstContainer:], containerFields[:])
	all[colSwapped] = field{name: "swapped", typ: typeInt64}
	for group, name := range [...]string{
		groupValue: "%s", groupHigh: "%s.high", groupTree: "tree.%s", groupTreeHigh: "tree.%s.high",
	} {
		for m := range event.Meter(event.CPUMeters) {
			all[meterColumn(group, m)] = field{name: fmt.Sprintf(name, m), typ: typeInt64}
		}
		for m := range event.DeviceMeter(event.DeviceMeters) {
			all[deviceColumn(group, m)] = field{name: fmt.Sprintf(name, "gpu."+m.String()), typ: typeInt64}
		}
	}
	return all
}

// The kinds of rows that are not boundaries. The kind of a boundary's row is the name of the boundary's kind.
const (
	kindStart      = "start"
	kindProcess    = "process"
	kindReading    = "reading"
	kindDevice     = "device" // a GPU's meters at the boundary or reading in the next row
	kindChange     = "change"
	kindRefusal    = "refusal"
	kindForeign    = "foreign"
	kindCellSource = "cell-source"
	kindStack      = "stack"
	kindHolders    = "holders"
	kindVariables  = "variables"
	kindResident   = "resident"
	kindLimits     = "limits"
	kindEnding     = "ending"
	kindFinish     = "finish"
)

var outcomeNames = [...]string{
	event.OutcomeUnknown:     "unknown",
	event.OutcomeOK:          "ok",
	event.OutcomeError:       "error",
	event.OutcomeInterrupted: "interrupted",
	event.OutcomeAbandoned:   "abandoned",
	event.OutcomeMissed:      "missed",
}

func parseOutcome(name string) (event.Outcome, bool) {
	for i, n := range outcomeNames {
		if n == name {
			return event.Outcome(i), true
		}
	}
	return 0, false
}
