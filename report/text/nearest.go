package text

import (
	"slices"
	"strings"

	"ipytracer/model"
	"ipytracer/words"
)

// summit is where a meter that does not rank was at its highest: a cell, or the time between two; neither where no cell had it.
type summit struct {
	peak int64
	cell *brief
	gap  *model.Between
}

// rose notes the highest of the meters that came near a limit.
func (v *view) rose(figures func(meter string) (model.Figure, bool), cell *brief, gap *model.Between) {
	for i := range v.near {
		id := v.near[i].Meter
		f, ok := figures(id)
		if known := v.summits[id]; !ok || f.Peak <= known.peak {
			continue
		}
		if gap != nil {
			one := *gap
			one.Meters = nil // it is lent
			gap = &one
		}
		v.summits[id] = summit{f.Peak, cell, gap}
	}
}

// nearOf is how near a meter came to its limit; nil where it has none, or that is not known.
func (v *view) nearOf(meter string) *model.Nearness {
	if i := slices.IndexFunc(v.near, func(n model.Nearness) bool { return n.Meter == meter }); i >= 0 {
		return &v.near[i]
	}
	return nil
}

// reached is the highest of the meter that ranks, of its limit where that is known.
func (v *view) reached(f model.Figure, shown string) string {
	meter := v.first()
	near := v.nearOf(meter)
	if near == nil {
		return shown + " " + words.Limited(meter)
	}
	one := *near
	if one.Peak != f.Peak {
		one.Refused = 0
	}
	one.Peak, one.Exact, one.Bound = f.Peak, f.Exact, f.Bound
	return words.Near(&one)
}

// beside says how near the other meters came to their limits: those that came nearer than the one that ranks in front of its highest moment.
func (v *view) beside(front bool, top model.Figure) {
	own, name := v.nearOf(v.first()), "also"
	if front {
		name = "nearest"
	}
	var parts []string
	for i := range v.near {
		n := &v.near[i]
		nearer := v.o.By == "" && own != nil && own.Share() > 0 && n.Share() > own.Share()
		if nearer == front && (n != own || n.Refused > 0 && n.Peak != top.Peak) {
			text := strings.TrimSuffix(words.Near(n)+v.whereOf(n), ",")
			if !n.Exact && model.Vague(n.Peak, n.Bound) {
				text += ", " + words.Vague
			}
			parts = append(parts, text)
		}
	}
	if len(parts) > 0 {
		v.answer(name, strings.Join(parts, " · "))
	}
}

// whereOf is " in In[3]", or " after In[3]": where a meter was at its highest; "" where that is not known.
func (v *view) whereOf(n *model.Nearness) string {
	s := v.summits[n.Meter]
	switch {
	case words.Bytes(s.peak) != words.Bytes(n.Peak): // it is the session's, in which another process may have been higher
		return ""
	case s.gap != nil:
		return " " + v.shortGap(*s.gap)
	case s.cell != nil:
		return " in " + v.shortName(s.cell)
	}
	return ""
}

// device is the prefix of the meters of the GPU whose memory ranks; "" where a meter of the CPU does.
func (v *view) device() string {
	if !words.OfGPU(v.first()) {
		return ""
	}
	return v.first()[:strings.LastIndexByte(v.first(), '.')+1]
}

// isOf says whether a meter is of the memory that ranks: of the same GPU, or of the CPU.
func (v *view) isOf(meter string) bool {
	if device := v.device(); device != "" {
		return strings.HasPrefix(meter, device)
	}
	return !words.OfGPU(meter)
}

// held is what would go with a name of the memory that ranks.
func (v *view) held(x *model.Variable) int64 {
	if v.device() != "" {
		return x.Device
	}
	return x.Bytes
}

// cached is what PyTorch's allocator kept of the GPU that ranks, for tensors to come, when the last cell was over; 0 where that is not
// known.
func (v *view) cached(figures map[string]model.Figure) int64 {
	device := v.device()
	if device == "" {
		return 0
	}
	active, reserved := figures[device+"active"], figures[device+"reserved"]
	if !active.Exact || !reserved.Exact {
		return 0
	}
	return max(0, reserved.End-active.End)
}
