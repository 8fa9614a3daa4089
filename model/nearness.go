package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Nearness says how near a meter of a process came to its limit.
type Nearness struct {
	// Level is the limit. Its Bytes are 0 for a GPU of unknown size.
	Level
	// Peak is the value of the meter when it was nearest to the limit, in bytes. It includes the process's children if
	// the limit is on all of them.
	Peak  int64
	Exact bool
	// Bound is how far Peak can be off, in bytes; nil if unknown.
	Bound *int64
	// Refused is the size of the request that was refused when the meter had Peak; 0 for none.
	Refused int64
}

// Share returns the used share of the limit, from 0 on. A refused request can raise it: to the share that would have
// been used if the request had been granted. Share returns 0 if it knows neither the limit nor a refused request.
func (n *Nearness) Share() (share float64) {
	peak := float64(max(0, n.Peak))
	if n.Bytes > 0 {
		share = peak / float64(n.Bytes)
	}
	if n.Refused > 0 && peak > 0 {
		share = max(share, peak/(peak+float64(n.Refused)))
	}
	return share
}

// Vague reports whether a figure can be off by more than its own size.
func Vague(bytes int64, bound *int64) bool { return bound != nil && *bound > max(bytes, -bytes) }

// Nearest returns each meter with a limit and how near it came to it, the nearest first. Behind them are GPUs of
// unknown size, the most used first. It leaves out GPUs that were hardly used; see [Ranking].
func (r *Report) Nearest() []Nearness {
	s := r.spans()
	var nearest []Nearness // one for each meter
	find := func(meter string) *Nearness {
		if at := slices.IndexFunc(nearest, func(n Nearness) bool { return n.Meter == meter }); at >= 0 {
			return &nearest[at]
		}
		return nil
	}
	add := func(n Nearness) {
		known := find(n.Meter)
		switch {
		case known == nil:
			nearest = append(nearest, n)
		case cmp.Or(cmp.Compare(n.Share(), known.Share()), cmp.Compare(n.Peak, known.Peak)) > 0:
			*known = n
		}
	}
	for _, l := range r.limits() {
		if f, ok := s.figure(l.PID, l.Meter); ok && (f.Peak > 0 || l.Meter == mostSeen) {
			add(Nearness{l, f.Peak, f.Exact, f.Bound, 0})
		}
	}
	for _, root := range s.roots {
		for id, f := range root.figures {
			if isDriver(id) && f.Peak > 0 {
				add(Nearness{Level{PID: root.pid, Meter: id, Kind: "gpu"}, f.Peak, f.Exact, f.Bound, 0})
			}
		}
	}
	for _, root := range s.roots {
		for _, refusal := range root.refused {
			hasLimit := isDriver(refusal.Meter) || refusal.Limit != 0
			if refusal.Held <= 0 || refusal.Asked < 0 || !hasLimit {
				continue
			}
			known := find(refusal.Meter)
			if known == nil {
				continue
			}
			n := *known
			n.PID, n.Peak, n.Refused = root.pid, refusal.Held, refusal.Asked
			if n.Share() >= tight {
				add(n)
			}
		}
	}
	byShare(nearest)
	resident := s.most(mostSeen)
	return slices.DeleteFunc(nearest, func(n Nearness) bool {
		return isDriver(n.Meter) && n.Share() < tight && n.Peak < resident/hardly
	})
}

const (
	mostSeen = "cpu.resident"
	// tight is the share of a limit from which on the limit matters more than the use of a GPU.
	tight = 0.5
	// hardly is a factor: a process with so many times as much resident memory as GPU memory has hardly used the GPU.
	// It has only a context there.
	hardly = 100
)

// Ranking returns the meter by which cells are ranked by default, given [Report.Nearest]:
//   - the meter with the nearest limit, if more than half of that limit was used;
//   - else the driver's meter of the GPU that came nearest to its own limit;
//   - else resident memory, or "" if the report has none.
//
// If the OOM killer ended a process, it returns resident memory. Instead of a driver's meter that is uncertain by more
// than its own size, it returns the meter of PyTorch's tensors.
func (r *Report) Ranking(near []Nearness) string {
	if slices.ContainsFunc(r.Processes, func(p Process) bool { return p.Ending != nil && p.Ending.OutOfMemory }) {
		near = nil
	}
	meter := ""
	for i := range near {
		if n := &near[i]; i == 0 && n.Share() >= tight || isDriver(n.Meter) {
			meter = n.Meter
			if isDriver(meter) && !n.Exact && (n.Bound == nil || Vague(n.Peak, n.Bound)) {
				meter = r.sharper(meter)
			}
			break
		}
	}
	if meter == "" && slices.Contains(r.AllMeters(), mostSeen) {
		return mostSeen
	}
	return meter
}

// sharper returns the meter of PyTorch's tensors on a GPU if its figures are exact, and else the driver's.
func (r *Report) sharper(driver string) string {
	active, s := strings.TrimSuffix(driver, "driver")+"active", r.spans()
	for _, one := range s.roots {
		if f, ok := one.figures[active]; !ok || !f.Exact {
			return driver
		}
	}
	return active
}

func isDriver(meter string) bool {
	return strings.HasPrefix(meter, "gpu.") && strings.HasSuffix(meter, ".driver")
}

// limits returns the levels of a report. The machine's memory limits resident memory without another limit.
func (r *Report) limits() []Level {
	all := LevelsOf(r.Processes, r.GPUs)
	for _, p := range r.Processes {
		if p.Parent == 0 && r.Host.Memory > 0 &&
			!slices.ContainsFunc(all, func(l Level) bool { return l.PID == p.PID && l.Meter == mostSeen }) {
			all = append(all, Level{PID: p.PID, Meter: mostSeen, Kind: "machine", Bytes: r.Host.Memory})
		}
	}
	return slices.DeleteFunc(all, func(l Level) bool { return l.Bytes <= 0 })
}

// span is the memory of a process, with its children, over its traced life. refused are the requests that were refused
// to them.
type span struct {
	pid     int
	figures map[string]Figure
	refused []Refusal
}

// spans has the spans of the attached processes, and the own figures of all processes.
type spans struct {
	roots []span
	own   map[int]map[string]Figure
}

// spans reads the windows of the sessions. Each of them comes before the windows of its process.
func (r *Report) spans() *spans {
	s := &spans{own: map[int]map[string]Figure{}}
	missing := map[int]bool{}
	for _, p := range r.Processes {
		s.own[p.PID] = p.Meters
		if p.Parent == 0 {
			missing[p.PID] = true
		}
	}
	for w := range r.AllPassing() {
		if len(missing) == 0 {
			break
		}
		if w.Kind == Session && missing[w.PID] {
			delete(missing, w.PID)
			s.roots = append(s.roots, span{w.PID, w.Figures(), slices.Clone(w.Refused)})
		}
	}
	for _, p := range r.Processes {
		if missing[p.PID] {
			s.roots = append(s.roots, span{p.PID, p.Meters, nil})
		}
	}
	return s
}

// figure returns the figure of a meter for a process with its children. Mapped memory is limited for each process, so
// for that meter it returns the process's own figure.
func (s *spans) figure(pid int, meter string) (Figure, bool) {
	for i := range s.roots {
		if s.roots[i].pid == pid && meter != "cpu.mapped" {
			f, ok := s.roots[i].figures[meter]
			return f, ok
		}
	}
	f, ok := s.own[pid][meter]
	return f, ok
}

// most returns the highest value that any attached process had of a meter.
func (s *spans) most(meter string) (most int64) {
	for _, one := range s.roots {
		most = max(most, one.figures[meter].Peak)
	}
	return most
}

// Nearest returns the same as [Report.Nearest] for a running process, from its highest values so far.
func (k *Kernel) Nearest(gpus []GPU) []Nearness {
	var all []Nearness
	figures := k.Figures()
	add := func(meter, kind, path string, bytes int64) {
		if f, ok := figures[meter]; ok {
			all = append(all, Nearness{
				Level{PID: k.PID, Meter: meter, Kind: kind, Path: path, Bytes: bytes}, f.Peak, f.Exact, f.Bound, 0,
			})
		}
	}
	if l := k.Limit; l != nil && l.Kind == "RLIMIT_DATA" {
		add("cpu.mapped", l.Kind, "", l.Bytes)
	} else if l != nil {
		add(mostSeen, l.Kind, l.Path, l.Bytes)
	}
	for id := range figures {
		if isDriver(id) {
			at := slices.IndexFunc(gpus, func(g GPU) bool { return id == "gpu."+strconv.Itoa(g.Index)+".driver" })
			if at < 0 {
				add(id, "gpu", "", 0)
			} else {
				add(id, "gpu", "", gpus[at].Memory)
			}
		}
	}
	byShare(all)
	return all
}

// byShare sorts by share, the nearest to its limit first.
func byShare(all []Nearness) {
	slices.SortStableFunc(all, func(a, b Nearness) int {
		return cmp.Or(cmp.Compare(b.Share(), a.Share()), cmp.Compare(b.Peak, a.Peak), cmp.Compare(a.Meter, b.Meter))
	})
}
