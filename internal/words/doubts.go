package words

import (
	"fmt"

	"ipytracer/model"
)

// DoubtKind is a reason why the figures of a comparison, or of a plan, may mislead.
type DoubtKind uint8

// The reasons that concern one recording.
const (
	WasCut           DoubtKind = iota
	NoCells                    // no cell ran
	NotComplete                // Text is a reason of its certificate
	MoreNotComplete            // its certificate has Count more reasons
	NamesIncomplete            // Text is a reason why the allocating code is not known in full, beside Count others
	LateLines                  // the session began in a process that ran already, so some memory has no line
	WithoutSource              // Count cells have no source
	CellsLeftOut               // Count cells were not compared
	LongSources                // Count cells have longer sources than a recording keeps
	NotExact                   // Count cells have figures of Text, a meter, that are not exact
	CellsFailed                // Count cells failed
	LateNeed                   // the session began in a process that ran already, so its earlier need is not known
	KilledForMemory            // the OOM killer ended a process
	LimitedBySetting           // a soft limit of Bytes kept a process from mapping more
)

// The reasons that concern two recordings, and a plan's demands.
const (
	DiffersIn      DoubtKind = 64 + iota // a property Text is A in recording A and B in recording B
	SessionCounts                        // recording A has Count sessions, B has Other
	OnlyInA                              // Text is a list of meters
	OnlyInB                              // Text is a list of meters
	EndedOtherwise                       // Text is a cell, A and B are the states that it ended with
	MoreEndings                          // Count more cells ended in another way
	LowerBound                           // Text is a meter whose highest moment is a lower bound
	BetweenCells                         // Text is a meter that was highest between two cells
	OtherMachines                        // the recordings are of different machines
)

// Doubt is a reason with the values that its kind names.
type Doubt struct {
	Kind         DoubtKind
	Run          string // the recording's name for people
	Text, A, B   string
	Count, Other int
	Bytes        int64
}

// String describes the doubt.
func (d Doubt) String() string {
	if d.Kind >= DiffersIn {
		return d.together()
	}
	switch d.Kind {
	case WasCut:
		return d.Run + " was cut: what came after is not known"
	case NoCells:
		return "no cell ran in " + d.Run
	case LateLines:
		return d.Run + " began in a process that ran already: what it had made by then has no line"
	case LateNeed:
		return d.Run + " began in a process that ran already: what it needed before is not known"
	}
	return d.Run + ": " + d.ofRun()
}

// ofRun describes a doubt that follows the name of its recording.
func (d Doubt) ofRun() string {
	cells := Plural(d.Count, "cell")
	switch d.Kind {
	case NotComplete:
		return d.Text
	case MoreNotComplete:
		return Plural(d.Count, "more reason") + " why it is not complete"
	case NamesIncomplete:
		more := ""
		if d.Count > 0 {
			more = " (and " + Plural(d.Count, "more reason") + ")"
		}
		return "who allocated is not known in full, so lines may differ for that alone (figures do not): " + d.Text +
			more
	case WithoutSource:
		return cells + " without source: matched by their order only"
	case CellsLeftOut:
		return cells + " were not compared (too many)"
	case LongSources:
		return "the sources of " + cells + " were longer than a recording keeps: differences in the rest are not seen"
	case NotExact:
		return fmt.Sprintf("%s is not exact in %s (marked)", Meter(d.Text), cells)
	case CellsFailed:
		return cells + " did not end well: with what did not run it would need more"
	case KilledForMemory:
		return "the OOM killer ended a process of it: what it would have needed is not known"
	case LimitedBySetting:
		return "a soft limit of " + Bytes(d.Bytes) + " kept a process from mapping more"
	}
	return ""
}

// together describes a doubt that concerns more than one recording.
func (d Doubt) together() string {
	orNone := func(s string) string {
		if s == "" {
			return "none, or not known,"
		}
		return s
	}
	switch d.Kind {
	case DiffersIn:
		return fmt.Sprintf("%s: %s in A, %s in B", d.Text, orNone(d.A), orNone(d.B))
	case SessionCounts:
		return fmt.Sprintf("%s in A, %s in B: they are compared in their order", Plural(d.Count, "session"),
			Plural(d.Other, "session"))
	case OnlyInA:
		return "in A only: " + d.Text
	case OnlyInB:
		return "in B only: " + d.Text
	case EndedOtherwise:
		return fmt.Sprintf("%s ended with %s in A and with %s in B", d.Text, d.A, d.B)
	case MoreEndings:
		return Plural(d.Count, "more cell") + " that ended in another way"
	case LowerBound:
		return Meter(d.Text) + ": the highest moment is a lower bound: part of the time or of the memory was not seen"
	case BetweenCells:
		return Meter(d.Text) + " was highest between two cells: no line is known for that"
	case OtherMachines:
		return "the recordings are of different machines"
	}
	return ""
}

// The differing properties of two recordings, as [Doubt.Text] of [DiffersIn] names them.
const (
	MachineMemory = "memory of the machine"
	SoftLimits    = "processes with a soft limit, set by"
)

// Recording returns the name of recording i, counted from 0, of a plan from count recordings.
func Recording(i, count int) string {
	if count == 1 {
		return "the recording"
	}
	return fmt.Sprintf("recording %d", i+1)
}

// Excess is a figure of a comparison beyond a limit.
type Excess struct {
	Row   *model.CellDiff // nil: the session
	Meter string
	Need  bool // the figure is a need, not a peak
	A, B  *model.Figure
	Limit string
}

// String describes the excess.
func (e *Excess) String() string {
	what, name := "the session", "peak"
	if e.Row != nil {
		what = Row(e.Row)
	}
	if e.Need {
		name = "need"
	}
	return fmt.Sprintf("%s, %s: %s %s → %s, over %s", what, Meter(e.Meter), name, e.figure(e.A), e.figure(e.B), e.Limit)
}

// figure returns the need or the peak of a figure with the mark of its certainty; "nothing" for nil.
func (e *Excess) figure(f *model.Figure) string {
	if f == nil {
		return "nothing"
	}
	if e.Need {
		return Need.Text(f)
	}
	return Highest.Text(f)
}

// NothingToCompare says that a comparison has neither cells nor sessions.
const NothingToCompare = "there is nothing to compare"
