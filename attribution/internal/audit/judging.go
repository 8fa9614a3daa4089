package audit

import (
	"cmp"
	"slices"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/internal/freeing"
	"ipytracer/model"
)

// survivors judges the blocks that are still there, or were when the last cell ended.
func (j *judge) survivors() {
	left, never := NewSurvivors(j.t), NewSurvivors(j.t)
	left.groups = j.views.names
	for _, p := range j.t.Processes.Order {
		pid := p.Info.PID
		if !j.about(pid) {
			continue
		}
		cleared, ended := j.audit.exited[pid]
		inner := j.inner(pid, ended)
		take := func(at place, b block) {
			if !inner.fill(at, b.size) {
				j.survivor(left, pid, at, b)
			}
		}
		j.audit.each(pid, func(at place, b block) {
			take(at, b)
			if cleared && at.meter.Facts().Owned && !at.meter.Facts().Inside {
				never.add(pid, at.meter, b, notAsked, event.Holder{})
			}
		})
		if ended {
			for at, b := range j.audit.departures.leaving[pid] {
				take(at, b.block)
			}
		}
		j.unseen(left, pid)
	}
	grown := map[siteKey]bool{}
	for _, s := range left.inOrder() {
		j.account(s)
		if j.judge(s) {
			grown[s.siteKey] = true
		}
	}
	for _, s := range never.inOrder() {
		if p := s.by[notAsked]; p != nil && !grown[s.siteKey] && !stacks.IsImport(s.Frames) {
			j.find(model.NeverFreed, s, notAsked, p)
			j.known(s)
		}
	}
}

// account lists the blocks that a site left, whatever holds them.
func (j *judge) account(s *Site) {
	if s.unseen {
		return // the code that made it is not known
	}
	for kind, p := range s.by {
		l := model.LiveBlocks{
			PID: int(s.pid), Meter: s.meter.String(), Stack: s.Frames, By: string(accountedAs(kind, p)),
			Holder: p.holder.Path,
			Bytes:  int64(p.bytes), Count: p.count, AgeNS: max(int64(j.t.Session.Last-p.oldest), 0),
		}
		l.Executions, l.ExecutionCounts = p.executions()
		l.Kernel = windows.KernelAbove(j.t.Processes.ByPID, s.pid)
		j.live = append(j.live, l)
	}
}

func (j *judge) survivor(to *survivors, pid int32, at place, b block) {
	if j.audit.torch.blocks[stacks.BlockKey{Key: course.Key{PID: pid, Meter: at.meter}, Address: at.address}] {
		return // PyTorch's allocator has it: the blocks that it hands out are counted as active
	}
	kind, holder := j.holder(pid, at)
	if j.isOfRunning(b, holder) {
		j.running += b.size
		return
	}
	if kind == notAsked && at.meter.Facts().Owned && b.size >= 64<<10 && !b.sample {
		j.unknown[pid] += b.size
	}
	to.add(pid, at.meter, b, j.judged(pid, at, kind, holder), holder)
	if at.meter.Encloses() {
		return // their holder is not known, and the blocks inside them were added already
	}
	name := heldBy{pid, at.meter, kind, freeing.RootOf(holder)}
	if name.kind == notAsked {
		name.name = ""
	}
	one := j.held[name]
	if one == nil {
		one = &model.Held{PID: int(pid), Meter: at.meter.String(), By: string(kind), Holder: name.name}
		j.held[name] = one
	}
	one.Bytes += int64(b.size)
	one.Count++
}

// holder returns the holder of a block, as the process reported it at the end.
func (j *judge) holder(pid int32, at place) (event.HolderKind, event.Holder) {
	h := j.audit.holders[pid]
	if h == nil || !at.meter.Facts().Owned {
		return notAsked, event.Holder{}
	}
	one := h.by[at.address]
	switch one.Kind {
	case event.HeldByVariable, event.HeldByOutput, event.HeldByTraceback, event.HeldByThread, event.HeldByModule:
		return one.Kind, one
	case event.HeldByCycle, event.HeldByNone:
		if h.complete {
			return one.Kind, one
		}
	}
	return notAsked, event.Holder{}
}

// judge decides on a site. It reports whether the site's cell grows with each run.
func (j *judge) judge(s *Site) bool {
	for _, p := range s.of(event.HeldByOutput) {
		j.find(model.HeldByOutput, s, event.HeldByOutput, p)
	}
	for _, p := range s.of(event.HeldByTraceback) {
		j.find(model.HeldByTraceback, s, event.HeldByTraceback, p)
	}
	for _, p := range s.of(heldLost) {
		j.find(model.LostInCycle, s, heldLost, p)
	}
	for _, p := range s.of(heldWaiting) {
		j.find(model.Waits, s, heldWaiting, p)
	}
	rest := join(s.by[event.HeldByNone], s.by[event.HeldByVariable], s.by[heldByView], s.by[heldByClass],
		s.by[event.HeldByThread],
		s.by[event.HeldByModule], s.by[event.HeldByCycle], s.by[heldInside], s.by[notAsked])
	if rest.count == 0 {
		return false
	}
	if s.text != "" && j.grows(s, rest) {
		j.find(model.RerunGrowth, s, rest.holder.Kind, rest)
		j.known(s)
		return true
	}
	if p := s.by[notAsked]; p != nil && p.failed > 0 && s.meter.Facts().Owned && j.audit.holders[s.pid] == nil {
		j.find(model.HeldByTraceback, s, notAsked, p)
		j.known(s)
	}
	for _, p := range s.of(heldByView) {
		j.find(model.HeldByView, s, heldByView, p)
	}
	if p := s.by[event.HeldByCycle]; p != nil && p.failed == p.bytes { // its frames refer to the exception
		j.find(model.HeldByTraceback, s, event.HeldByCycle, p)
		delete(s.roots, rootKey{kind: event.HeldByCycle})
	}
	if stacks.IsImport(s.Frames) {
		return false // blocks that a module makes when it is imported are meant to stay
	}
	for _, kind := range []event.HolderKind{event.HeldByModule, heldByClass, event.HeldByThread, event.HeldByCycle,
		event.HeldByNone} {
		if !j.isJudged(s, kind) {
			continue
		}
		for _, p := range s.of(kind) {
			if !isWorkspace(s.meter, kind, p) {
				j.find(model.HeldAfterWindow, s, kind, p)
			}
		}
	}
	return false
}

// isJudged reports whether blocks of a site that have a kind of holder stay behind. What was there before the audit
// began may be in use by a thread or by C code. A class's attribute is the notebook's own while the notebook runs; of
// what was there before, nobody knows who still needs it.
func (j *judge) isJudged(s *Site, kind event.HolderKind) bool {
	switch kind {
	case event.HeldByModule, event.HeldByCycle:
		return true
	case heldByClass:
		return s.unseen
	}
	return !s.unseen || j.audit.pauses[event.NumPy] != nil
}

// known takes a judged site's blocks out of those with an unknown holder.
func (j *judge) known(s *Site) {
	if p := s.by[notAsked]; p != nil && s.meter.Facts().Owned {
		j.unknown[s.pid] = max(j.unknown[s.pid]-p.bytes, 0)
	}
}

// grows reports whether each run of a site's cell leaves more. The growth of mapped memory must be steady: at least
// half of the mean with 95 % confidence, and over at least four runs. The reason is that allocators keep freed memory,
// such as an arena for each thread, and stop taking new memory after a while. The memory after a run must also have
// grown: the last run may use all memory that earlier runs left, see [judge.mappedAfter].
func (j *judge) grows(s *Site, left *portion) bool {
	runs := j.runs[runKey{s.pid, windows.DigestOf(s.text)}]
	g := growthOf(runs, left.runs)
	if g == nil || s.meter != event.Mapped {
		return g != nil
	}
	return g.Runs > minRuns && 2*g.Low >= g.Slope && 2*int64(riseOf(j.mappedAfter(s, runs, left.runs))) >= g.Slope
}

// isWorkspace reports whether blocks are the memory that PyTorch takes for cuBLAS at the first matrix product of each
// thread and stream and keeps: 4,096 KiB × 2 and 16 KiB × 8, or 32 MiB on Hopper (getChosenWorkspaceSize in
// aten/src/ATen/cuda/CublasHandlePool.cpp, PyTorch 1.11 to 2.11). No Python object holds it.
func isWorkspace(m event.Meter, kind event.HolderKind, p *portion) bool {
	if !windows.IsActive(m) || kind != event.HeldByNone || p.bytes%event.Bytes(p.count) != 0 {
		return false
	}
	each := p.bytes / event.Bytes(p.count)
	return each == 4096*2<<10+16*8<<10 || each == 32<<20
}

// report returns the audit, with its verdicts in order.
func (j *judge) report() *model.Audit {
	out := &model.Audit{
		Schema: model.AuditSchema, Host: j.t.Session.Host(), Processes: []model.AuditProcess{},
		Verdicts: []model.Verdict{}, Held: []model.Held{},
		Least: int64(j.least), Cells: j.t.Processes.Cells(), DurationNS: j.t.Session.Since(0),
	}
	for _, key := range j.order {
		f := j.verdicts[key]
		if f.portion.bytes >= j.least || key.kind == model.ChildAlive || key.kind == model.IdlePool {
			out.Verdicts = append(out.Verdicts, j.verdict(key, f))
		}
	}
	slices.SortStableFunc(out.Verdicts, func(x, y model.Verdict) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Meter, y.Meter),
			slices.Compare(x.Executions, y.Executions),
			slices.CompareFunc(x.Stack, y.Stack, stacks.OrderFrames))
	})
	for _, h := range j.held {
		out.Held = append(out.Held, *h)
	}
	slices.SortFunc(out.Held, func(x, y model.Held) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Meter, y.Meter), cmp.Compare(x.By, y.By),
			cmp.Compare(x.Holder, y.Holder), cmp.Compare(x.PID, y.PID))
	})
	out.Held = slices.Clip(out.Held[:min(len(out.Held), stacks.MaxListed)])
	slices.SortFunc(j.live, func(x, y model.LiveBlocks) int {
		return cmp.Or(cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.Meter, y.Meter), cmp.Compare(x.By, y.By),
			cmp.Compare(x.PID, y.PID),
			slices.CompareFunc(x.Stack, y.Stack, stacks.OrderFrames), slices.Compare(x.Executions, y.Executions))
	})
	out.Variables, out.Names = j.t.Namespaces.Variables()
	out.ToFree = j.t.Namespaces.ToFree()
	out.Resident, out.GPUNotes = j.t.Namespaces.Resident(), j.t.Presenter.Notes()
	out.Live = slices.Clip(j.live[:min(len(j.live), stacks.MaxListed)])
	j.describe(out)
	return out
}

func (j *judge) judgeAll() *model.Audit {
	for _, w := range j.t.Table.Staying {
		if w.Kind == windows.KindCell && j.about(w.Process.Info.PID) && !(j.asking && w.IsOpen) {
			key := runKey{w.Process.Info.PID, j.t.Texts.KeyOf(w)}
			j.runs[key] = append(j.runs[key], w)
			if j.shown[key.pid] == nil {
				j.shown[key.pid] = map[int]*windows.Window{}
			}
			j.shown[key.pid][w.Count] = w
		}
	}
	j.survivors()
	j.otherViews()
	j.passed()
	j.fragmented()
	j.children()
	return j.report()
}

// isOfRunning reports whether a running cell made a block, or only that cell's calls hold it.
func (j *judge) isOfRunning(b block, holder event.Holder) bool {
	return j.asking && (holder.Running || b.birth != nil && b.birth.Cell != nil && b.birth.Cell.IsOpen)
}

// unseen takes in arrays that no change reported: made before the audit began, or while its probes were detached. The
// process's objects give the sizes and the holders; the code that made the arrays is not known.
func (j *judge) unseen(left *survivors, pid int32) {
	h := j.audit.holders[pid]
	if h == nil {
		return
	}
	for address, one := range h.by {
		at := place{event.NumPy, address}
		if _, known := j.audit.live[pid][at]; known || one.Size <= 0 {
			continue
		}
		j.seen[pid] += one.Size
		j.survivor(left, pid, at, block{size: one.Size, at: j.t.Session.Began})
	}
	if s := left.sites[siteKey{pid: pid, meter: event.NumPy}]; s != nil && j.seen[pid] > 0 {
		s.unseen = true
	}
}
