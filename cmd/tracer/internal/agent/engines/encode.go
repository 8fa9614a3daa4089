package engines

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"ipytracer/attribution"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// Names of made-up frames, which stand for a stack or say something about one.
const (
	noFrame      = "[no Python frame]"
	stackNotKept = "[not kept]"
	notListed    = "[not listed]"
	madeBefore   = "[made before, or not known]"
	moreKnown    = "[more is known than there was]"
	cutOff       = "[calls further out that are not recorded]"
	atLeast      = "[not exact: at least]"
	offByMost    = "[not exact: off by at most %s]"
)

// Bounds on a profile. Pyroscope takes 16,000 samples and 4 MiB.
const (
	maxSamples = 4000
	maxProfile = 4 << 20 // bytes, before they are compressed
	maxName    = 512     // cells of a name
)

var errTooLarge = errors.New("the profile is larger than 4 MiB")

// kinds are the two values of a meter: the bytes allocated in an interval, and the bytes held at its end.
var kinds = [2]string{"alloc_space", "inuse_space"}

// builder makes a profile.
type builder struct {
	profile   *profile.Profile
	functions map[functionKey]*profile.Function
	locations map[locationKey]*profile.Location
}

type functionKey struct{ name, file string }

type locationKey struct {
	function *profile.Function
	line     int64
}

// newBuilder returns a builder for the meters. Each meter has the two values of [kinds], one after the other.
func newBuilder(meters []string, from, to time.Time) *builder {
	b := &builder{
		profile: &profile.Profile{
			TimeNanos: to.UnixNano(), DurationNanos: max(0, to.Sub(from).Nanoseconds()),
			PeriodType: &profile.ValueType{Type: "space", Unit: "bytes"}, Period: 1,
		},
		functions: map[functionKey]*profile.Function{}, locations: map[locationKey]*profile.Location{},
	}
	for _, m := range meters {
		for _, kind := range kinds {
			valueType := &profile.ValueType{Type: m + "." + kind, Unit: "bytes"}
			b.profile.SampleType = append(b.profile.SampleType, valueType)
		}
	}
	return b
}

// profilePart is the part of a meter's values that belongs to one stack.
type profilePart struct {
	values [2]int64      // as in [kinds]
	frames []model.Frame // innermost first
	cut    bool          // the stack has outer frames that are not recorded
	name   string        // a made-up frame that stands for the stack; "" for none
	doubt  string        // a made-up outermost frame for figures that are not exact; "" for none
}

// add adds a part of the i-th meter. It leaves out a part without bytes.
func (b *builder) add(i int, p profilePart) {
	if p.values == [2]int64{} {
		return
	}
	s := &profile.Sample{Value: make([]int64, len(b.profile.SampleType))}
	copy(s.Value[2*i:], p.values[:])
	for k := range p.frames {
		s.Location = append(s.Location, b.location(&p.frames[k]))
	}
	if p.name == "" && len(p.frames) == 0 {
		p.name = noFrame
	}
	if p.name == "" && p.cut {
		p.name = cutOff
	}
	for _, name := range []string{p.name, p.doubt} {
		if name != "" {
			s.Location = append(s.Location, b.location(&model.Frame{Function: name}))
		}
	}
	b.profile.Sample = append(b.profile.Sample, s)
}

// location returns the location of a call. The code of a cell has the cell's name.
func (b *builder) location(f *model.Frame) *profile.Location {
	name, file := f.Function, f.File
	if f.InCell() {
		file = words.FrameCell(f)
		if name == "<module>" {
			name = file
		}
	}
	key := functionKey{clean(name), clean(file)}
	function := b.functions[key]
	if function == nil {
		function = &profile.Function{ID: uint64(len(b.profile.Function)) + 1, Name: key.name, Filename: key.file}
		b.functions[key] = function
		b.profile.Function = append(b.profile.Function, function)
	}
	at := locationKey{function, max(0, int64(f.Line))}
	l := b.locations[at]
	if l == nil {
		l = &profile.Location{ID: uint64(len(b.profile.Location)) + 1,
			Line: []profile.Line{{Function: function, Line: at.line}}}
		b.locations[at] = l
		b.profile.Location = append(b.profile.Location, l)
	}
	return l
}

// clean bounds and escapes a name.
func clean(text string) string { return strings.ToValidUTF8(escape.Bounded(text, maxName), "?") }

// comment adds a sentence.
func (b *builder) comment(format string, args ...any) {
	b.profile.Comments = append(b.profile.Comments, fmt.Sprintf(format, args...))
}

// bytes returns the compressed profile; nil for a nil builder.
func (b *builder) bytes() ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	if err := b.profile.CheckValid(); err != nil {
		return nil, err
	}
	var plain, packed bytes.Buffer
	if err := b.profile.WriteUncompressed(&plain); err != nil {
		return nil, err
	}
	if plain.Len() > maxProfile {
		return nil, errTooLarge
	}
	err := b.profile.Write(&packed)
	return packed.Bytes(), err
}

// doubtOf returns the made-up frame for figures that are not exact, "" for exact ones.
func doubtOf(exact bool, bound *int64) string {
	switch {
	case exact:
		return ""
	case bound == nil:
		return atLeast
	}
	return fmt.Sprintf(offByMost, words.Bytes(*bound))
}

// ofInterval returns the profile of what a kernel allocated in an interval and holds at its end; nil if both are
// nothing. The parts of a meter add up to its value.
func ofInterval(from, to time.Time, flows []attribution.Flow) *builder {
	var meters []string
	var used []*attribution.Flow
	for i := range flows {
		if f := &flows[i]; f.Allocated != 0 || f.Held > 0 {
			meters, used = append(meters, f.Meter), append(used, f)
		}
	}
	if len(used) == 0 {
		return nil
	}
	b := newBuilder(meters, from, to)
	for i, f := range used {
		b.addFlow(i, f, maxSamples/len(used))
	}
	if n := flows[0].Dropped; n > 0 {
		b.comment("%d blocks and stacks had no room so far: they count as %s or %s", n, stackNotKept, madeBefore)
	}
	return b
}

// addFlow adds the i-th meter, with maxStacks stacks at most. The bytes of further stacks count as notListed, and held
// bytes without a stack as madeBefore.
func (b *builder) addFlow(i int, f *attribution.Flow, maxStacks int) {
	doubt, held, folded := doubtOf(f.Exact, f.Bound), f.Held, [2]int64{}
	lostFrees := f.Known > f.Held // the stacks hold more than the meter
	if lostFrees {
		b.add(i, profilePart{values: [2]int64{0, max(0, f.Held)}, name: moreKnown, doubt: doubt})
	}
	for k := range f.Stacks {
		s := &f.Stacks[k]
		p := profilePart{
			values: [2]int64{max(0, s.Allocated), max(0, s.Held)}, frames: s.Frames, cut: s.Truncated, doubt: doubt,
		}
		if lostFrees {
			p.values[1] = 0
		}
		held -= p.values[1]
		if s.Missing {
			p.name = stackNotKept
		}
		if k < maxStacks {
			b.add(i, p)
		} else {
			folded[0] += p.values[0]
			folded[1] += p.values[1]
		}
	}
	b.add(i, profilePart{values: folded, name: notListed, doubt: doubt})
	if !lostFrees {
		b.add(i, profilePart{values: [2]int64{0, max(0, held)}, name: madeBefore, doubt: doubt})
	}
}
