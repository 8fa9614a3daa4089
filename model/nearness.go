package model

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Nearness is how near a meter of a process came to what limits it.
type Nearness struct {
	// Level is the limit. Its Bytes are 0 for a GPU whose size is not known.
	Level
	// Peak is what the meter had when it was nearest, in bytes: with the process's children where the limit is on all of them.
	Peak  int64
	Exact bool
	// Bound is how far Peak can be off, in bytes; nil if nobody can say.
	Bound *int64
	// Refused is how many bytes were asked for in vain when the meter had Peak; 0 for none.
	Refused int64
}

// Share is how much of what could be had was used, from 0 on: of the limit or, where that is more, of what would have been used if the
// request that was refused had been granted. 0 where neither is known.
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

// Vague says that a figure can be off by more than there is of it.
func Vague(bytes int64, bound *int64) bool { return bound != nil && *bound > max(bytes, -bytes) }

// Nearest says how near each meter with a limit came to it, the nearest first, each meter once. Behind them are GPUs whose size is not known,
// the most used first. It leaves out GPUs that were hardly used; see [Ranking].
func (r *Report) Nearest() []Nearness {
	s := r.spans()
	var all []Nearness
	find := func(meter string) *Nearness {
		if at := slices.IndexFunc(all, func(o Nearness) bool { return o.Meter == meter }); at >= 0 {
			return &all[at]
		}
		return nil
	}
	add := func(n Nearness) {
		known := find(n.Meter)
		switch {
		case known == nil:
			all = append(all, n)
		case cmp.Or(cmp.Compare(n.Share(), known.Share()), cmp.Compare(n.Peak, known.Peak)) > 0:
			*known = n
		}
	}
	for _, l := range r.limits() {
		if f, ok := s.figure(l.PID, l.Meter); ok && (f.Peak > 0 || l.Meter == mostSeen) {
			add(Nearness{l, f.Peak, f.Exact, f.Bound, 0})
		}
	}
	for _, one := range s.roots {
		for id, f := range one.figures {
			if isDriver(id) && f.Peak > 0 {
				add(Nearness{Level{PID: one.pid, Meter: id, Kind: "gpu"}, f.Peak, f.Exact, f.Bound, 0})
			}
		}
	}
	for _, one := range s.roots {
		for _, x := range one.refused {
			if x.Held <= 0 || x.Asked < 0 || !isDriver(x.Meter) && x.Limit == 0 {
				continue
			}
			known := find(x.Meter)
			if known == nil {
				continue
			}
			n := *known
			if n.PID, n.Peak, n.Refused = one.pid, x.Held, x.Asked; n.Share() >= tight {
				add(n)
			}
		}
	}
	byShare(all)
	resident := s.most(mostSeen)
	return slices.DeleteFunc(all, func(n Nearness) bool { return isDriver(n.Meter) && n.Share() < tight && n.Peak < resident/hardly })
}

const (
	mostSeen = "cpu.resident"
	// tight is the share of a limit from which on it matters more than that the session used a GPU.
	tight = 0.5
	// hardly is how many times as much as on a GPU a process has resident that has hardly used the GPU: a context, and nothing in it.
	hardly = 100
)

// Ranking is the meter that ranks cells where nobody chose one, by what [Report.Nearest] says: that of the nearest limit if more than half of
// it was used, else that of the GPU that came nearest to its own. A GPU's is the driver's; what PyTorch's tensors take of it where the
// driver's is not known to within its own size. Without a GPU, and where the OOM killer ended a process, it is resident memory; "" where
// there is none.
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

// sharper is what PyTorch's tensors take of a GPU if that is better known than what its driver gave out.
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

// limits are the levels of a report; resident memory that has none is limited by the machine's.
func (r *Report) limits() []Level {
	all := LevelsOf(r.Processes, r.GPUs)
	for _, p := range r.Processes {
		if p.Parent == 0 && r.Host.Memory > 0 && !slices.ContainsFunc(all, func(l Level) bool { return l.PID == p.PID && l.Meter == mostSeen }) {
			all = append(all, Level{PID: p.PID, Meter: mostSeen, Kind: "machine", Bytes: r.Host.Memory})
		}
	}
	return slices.DeleteFunc(all, func(l Level) bool { return l.Bytes <= 0 })
}

// span is what a process used over its traced life, with its children; refused is what was refused to them.
type span struct {
	pid     int
	figures map[string]Figure
	refused []Refusal
}

// spans are those of attached processes, and the own figures of all.
type spans struct {
	roots []span
	own   map[int]map[string]Figure
}

// spans looks for the sessions' windows, which are in front of those of their processes.
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

// figure is a meter of a process: with its children, but for what is mapped, which is limited for each process alone.
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

// most is the highest of a meter, of any attached process.
func (s *spans) most(meter string) (most int64) {
	for _, one := range s.roots {
		most = max(most, one.figures[meter].Peak)
	}
	return most
}

// Nearest says the same as [Report.Nearest] of a process that runs, by what it had at its highest so far.
func (k *Kernel) Nearest(gpus []GPU) []Nearness {
	var all []Nearness
	figures := k.Figures()
	add := func(meter, kind, path string, bytes int64) {
		if f, ok := figures[meter]; ok {
			all = append(all, Nearness{Level{PID: k.PID, Meter: meter, Kind: kind, Path: path, Bytes: bytes}, f.Peak, f.Exact, f.Bound, 0})
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

// byShare puts the nearest first.
func byShare(all []Nearness) {
	slices.SortStableFunc(all, func(a, b Nearness) int {
		return cmp.Or(cmp.Compare(b.Share(), a.Share()), cmp.Compare(b.Peak, a.Peak), cmp.Compare(a.Meter, b.Meter))
	})
}
