package model

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// PointKind says how a [Point] relates to its meter.
type PointKind byte

// Kinds of point. In JSON they are these letters.
const (
	// PointValue: the meter had this value at this time.
	PointValue PointKind = 'v'
	// PointFell: the meter had this value at this time and fell from it. How far it fell is known only at the next
	// boundary.
	PointFell PointKind = 'f'
	// PointMost: this is the largest value that the meter reached since the point before. The time at which it did is
	// unknown.
	PointMost PointKind = 'm'
	// PointGap: from this time to that of the next point the meter is not known; Bytes is the last known value.
	PointGap PointKind = 'g'
)

// Point is one value of one meter.
type Point struct {
	NS    int64 // since the session began
	Bytes int64
	Kind  PointKind
}

// Track is the course of one meter of one process over time, by its turning points: an item of [Report.Timeline].
// Points are in order of time. A meter that stands still has no points: its value at a time is that of the last point
// before, or at, the time. So at the start and the end of each window of the process, the track has exactly the
// window's figures. The highest point from the start to the end, both included, is the window's peak. Before the first
// point and behind the last one, the meter was 0 or the process was not there. A long track comes in several items, one
// directly after another.
type Track struct {
	PID   int
	Meter string
	// Tree: the track is of the process and its descendants together. Only a process without Parent has such a track.
	// It has points only while there are descendants. At other times the process's own track is the tree's, and the gap
	// says [GapAlone]. A meter that no descendant ever had is in such a gap all along.
	Tree   bool
	Points []Point
	Gaps   []Gap
}

// Gap is a time in which a track is incomplete. If nothing is known of the time, a point of kind [PointGap] begins it.
// Otherwise the points within it are lower bounds.
type Gap struct {
	StartNS int64  `json:"start_ns"`
	EndNS   int64  `json:"end_ns"`
	Reason  string `json:"reason"`
}

// Reasons of gaps. A gap may also have the name of a group of probes that was out as its reason.
const (
	GapAlone   = "no descendants" // see [Track.Tree]
	GapStepped = "stepped down"   // to keep the overhead budget; names of single groups say more
	GapNoRoom  = "no room"        // the session had more points than are kept
	GapUnknown = "not probed"     // a place could not be probed at that time: the points are lower bounds
)

// Level is an upper limit of a meter of a process.
type Level struct {
	PID   int    `json:"pid"`
	Meter string `json:"meter"`
	// Kind is cgroup, machine or RLIMIT_DATA, as in [Limit]; "gpu" for the memory of a GPU; "limit" for a [SoftLimit]
	// that a tracer has set.
	Kind  string `json:"kind"`
	Path  string `json:"path,omitempty"` // of the cgroup
	Bytes int64  `json:"bytes"`
}

// LevelsOf returns the limits of processes and GPUs as levels of meters. A limit of the address space (RLIMIT_AS)
// belongs to no meter.
func LevelsOf(processes []Process, gpus []GPU) (levels []Level) {
	for _, p := range processes {
		if soft := p.SoftLimit; soft != nil {
			kind := "limit"
			if soft.By == "other" {
				kind = "RLIMIT_DATA"
			}
			levels = append(levels, Level{PID: p.PID, Meter: "cpu.mapped", Kind: kind, Bytes: soft.Bytes})
		}
		for _, l := range p.Limits {
			switch {
			case l.Kind == "cgroup" || l.Kind == "machine":
				levels = append(levels, Level{
					PID: p.PID, Meter: "cpu.resident", Kind: l.Kind, Path: l.Path, Bytes: l.Bytes,
				})
			case l.Kind == "RLIMIT_DATA" && (p.SoftLimit == nil || p.SoftLimit.Bytes != l.Bytes):
				levels = append(levels, Level{PID: p.PID, Meter: "cpu.mapped", Kind: l.Kind, Bytes: l.Bytes})
			}
		}
		if p.Parent != 0 {
			continue
		}
		for _, g := range gpus {
			if g.Memory > 0 {
				levels = append(levels, Level{
					PID: p.PID, Meter: "gpu." + strconv.Itoa(g.Index) + ".driver", Kind: "gpu", Bytes: g.Memory,
				})
			}
		}
	}
	return levels
}

// trackJSON is a track in JSON, by columns. Times and values are differences from the point before.
type trackJSON struct {
	PID     int     `json:"pid"`
	Meter   string  `json:"meter"`
	Tree    bool    `json:"tree,omitempty"`
	Elapsed []int64 `json:"elapsed_ns"`
	Change  []int64 `json:"change"`
	Kinds   string  `json:"kinds"`
	Gaps    []Gap   `json:"gaps,omitempty"`
}

// MarshalJSON writes a track in the form of reports.
func (t Track) MarshalJSON() ([]byte, error) {
	out := trackJSON{PID: t.PID, Meter: t.Meter, Tree: t.Tree, Elapsed: []int64{}, Change: []int64{}, Gaps: t.Gaps}
	var before Point
	kinds := make([]byte, 0, len(t.Points))
	for _, p := range t.Points {
		out.Elapsed, out.Change = append(out.Elapsed, p.NS-before.NS), append(out.Change, p.Bytes-before.Bytes)
		kinds = append(kinds, byte(p.Kind))
		before = p
	}
	out.Kinds = string(kinds)
	return json.Marshal(out)
}

// UnmarshalJSON reads a track of a report.
func (t *Track) UnmarshalJSON(data []byte) error {
	var in trackJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	if len(in.Elapsed) != len(in.Change) || len(in.Elapsed) != len(in.Kinds) {
		return fmt.Errorf("a track has %d times, %d values and %d kinds",
			len(in.Elapsed), len(in.Change), len(in.Kinds))
	}
	*t = Track{PID: in.PID, Meter: in.Meter, Tree: in.Tree, Gaps: in.Gaps}
	var p Point
	for i := range in.Elapsed {
		p = Point{p.NS + in.Elapsed[i], p.Bytes + in.Change[i], PointKind(in.Kinds[i])}
		t.Points = append(t.Points, p)
	}
	return nil
}
