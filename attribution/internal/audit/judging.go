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

// survivors judges the blocks that are still live or, for a process that ended, were live when its last cell ended.
func (j *judge) survivors() {
	left, neverFreed := NewSurvivors(j.t), NewSurvivors(j.t)
	left.groups = j.views.names
	for _, p := range j.t.Processes.Order {
		pid := p.Info.PID
		if !j.isJudgedProcess(pid) {
			continue
		}
		cleared, ended := j.audit.exited[pid]
		inner := j.inner(pid, ended)
		addIfNotFilled := func(at place, b block) {
			if !inner.isFilled(at, b.size) {
				j.addSurvivor(left, pid, at, b)
			}
		}
		j.audit.each(pid, func(at place, b block) {
			addIfNotFilled(at, b)
			if cleared && at.meter.Facts().Owned && !at.meter.Facts().Inside {
				neverFreed.add(pid, at.meter, b, notAsked, event.Holder{})
			}
		})
		if ended {
			for at, b := range j.audit.departures.leaving[pid] {
				addIfNotFilled(at, b.block)
			}
		}
		j.addUnseen(left, pid)
	}
	grown := map[siteKey]bool{}
	for _, s := range left.inOrder() {
		j.listLive(s)
		if j.judge(s) {
			grown[s.siteKey] = true
		}
	}
	for _, s := range neverFreed.inOrder() {
		if p := s.by[notAsked]; p != nil && !grown[s.siteKey] && !stacks.IsImport(s.Frames) {
			j.addTo(model.NeverFreed, s, notAsked, p)
			j.subtractUnknown(s)
		}
	}
}

// listLive lists the blocks that a site left, whatever holds them.
func (j *judge) listLive(s *Site) {
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

func (j *judge) addSurvivor(list *survivors, pid int32, at place, b block) {
	if j.audit.torch.blocks[stacks.BlockKey{Key: course.Key{PID: pid, Meter: at.meter}, Address: at.address}] {
		return // a segment of PyTorch's allocator: the blocks in it are judged as active
	}
	kind, holder := j.holder(pid, at)
	if j.isOfRunning(b, holder) {
		j.running += b.size
		return
	}
	if kind == notAsked && at.meter.Facts().Owned && b.size >= 64<<10 && !b.sample {
		j.unknown[pid] += b.size
	}
	list.add(pid, at.meter, b, j.filedAs(pid, at, kind, holder), holder)
	if at.meter.Encloses() {
		return // such blocks have no known holder, and the blocks inside them were added already
	}
	name := heldBy{pid, at.meter, kind, freeing.RootOf(holder)}
	if name.kind == notAsked {
		name.name = ""
	}
	row := j.held[name]
	if row == nil {
		row = &model.Held{PID: int(pid), Meter: at.meter.String(), By: string(kind), Holder: name.name}
		j.held[name] = row
	}
	row.Bytes += int64(b.size)
	row.Count++
}

// holder returns the holder of a block, as the process reported it at the end.
func (j *judge) holder(pid int32, at place) (event.HolderKind, event.Holder) {
	h := j.audit.holders[pid]
	if h == nil || !at.meter.Facts().Owned {
		return notAsked, event.Holder{}
	}
	holder := h.by[at.address]
	switch holder.Kind {
	case event.HeldByVariable, event.HeldByOutput, event.HeldByTraceback, event.HeldByThread, event.HeldByModule:
		return holder.Kind, holder
	case event.HeldByCycle, event.HeldByNone:
		if h.complete {
			return holder.Kind, holder
		}
	}
	return notAsked, event.Holder{}
}

// judge finds the verdicts on a site. It reports whether the site's cell leaves more with each run.
func (j *judge) judge(s *Site) bool {
	for _, p := range s.of(event.HeldByOutput) {
		j.addTo(model.HeldByOutput, s, event.HeldByOutput, p)
	}
	for _, p := range s.of(event.HeldByTraceback) {
		j.addTo(model.HeldByTraceback, s, event.HeldByTraceback, p)
	}
	for _, p := range s.of(heldLost) {
		j.addTo(model.LostInCycle, s, heldLost, p)
	}
	for _, p := range s.of(heldWaiting) {
		j.addTo(model.Waits, s, heldWaiting, p)
	}
	rest := sumOf(s.by[event.HeldByNone], s.by[event.HeldByVariable], s.by[heldByView], s.by[heldByClass],
		s.by[event.HeldByThread],
		s.by[event.HeldByModule], s.by[event.HeldByCycle], s.by[heldInside], s.by[notAsked])
	if rest.count == 0 {
		return false
	}
	if s.text != "" && j.grows(s, rest) {
		j.addTo(model.RerunGrowth, s, rest.holder.Kind, rest)
		j.subtractUnknown(s)
		return true
	}
	if p := s.by[notAsked]; p != nil && p.failed > 0 && s.meter.Facts().Owned && j.audit.holders[s.pid] == nil {
		j.addTo(model.HeldByTraceback, s, notAsked, p)
		j.subtractUnknown(s)
	}
	for _, p := range s.of(heldByView) {
		j.addTo(model.HeldByView, s, heldByView, p)
	}
	if p := s.by[event.HeldByCycle]; p != nil && p.failed == p.bytes { // a cycle of an exception and its frames
		j.addTo(model.HeldByTraceback, s, event.HeldByCycle, p)
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
				j.addTo(model.HeldAfterWindow, s, kind, p)
			}
		}
	}
	return false
}

// isJudged reports whether blocks of a site with a kind of holder count as left behind. Unseen blocks, from before the
// audit began, may be in use by a thread or by C code. Blocks of a class's attribute count only if they are unseen: the
// notebook itself uses the others while it runs.
func (j *judge) isJudged(s *Site, kind event.HolderKind) bool {
	switch kind {
	case event.HeldByModule, event.HeldByCycle:
		return true
	case heldByClass:
		return s.unseen
	}
	return !s.unseen || j.audit.pauses[event.NumPy] != nil
}

// subtractUnknown subtracts the blocks of a judged site from the bytes with an unknown holder.
func (j *judge) subtractUnknown(s *Site) {
	if p := s.by[notAsked]; p != nil && s.meter.Facts().Owned {
		j.unknown[s.pid] = max(j.unknown[s.pid]-p.bytes, 0)
	}
}

// grows reports whether each run of a site's cell leaves more. Mapped memory must also grow steadily: at least half of
// the mean with 95 % confidence, over more than minRuns runs. Allocators keep freed memory, such as an arena for each
// thread, and take no new memory after a while. And the mapped total must grow, see [judge.mappedAfter]: the last run
// may use all memory that earlier runs left.
func (j *judge) grows(s *Site, rest *portion) bool {
	runs := j.runs[runKey{s.pid, windows.DigestOf(s.text)}]
	g := growthOf(runs, rest.runs)
	if g == nil || s.meter != event.Mapped {
		return g != nil
	}
	isSteady := g.Runs > minRuns && 2*g.Low >= g.Slope
	return isSteady && 2*int64(riseOf(j.mappedAfter(s, runs, rest.runs))) >= g.Slope
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
		if w.Kind == windows.KindCell && j.isJudgedProcess(w.Process.Info.PID) && !(j.asking && w.IsOpen) {
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
	j.judgePassed()
	j.fragmented()
	j.children()
	return j.report()
}

// isOfRunning reports whether a running cell made a block, or only that cell's calls hold it.
func (j *judge) isOfRunning(b block, holder event.Holder) bool {
	return j.asking && (holder.Running || b.birth != nil && b.birth.Cell != nil && b.birth.Cell.IsOpen)
}

// addUnseen adds to left the arrays of a process that no change reported: they were made before the audit began, or
// while its probes were detached. The process's objects give their sizes and holders. The code that made them is not
// known.
func (j *judge) addUnseen(left *survivors, pid int32) {
	h := j.audit.holders[pid]
	if h == nil {
		return
	}
	for address, holder := range h.by {
		at := place{event.NumPy, address}
		if _, known := j.audit.live[pid][at]; known || holder.Size <= 0 {
			continue
		}
		j.seen[pid] += holder.Size
		j.addSurvivor(left, pid, at, block{size: holder.Size, at: j.t.Session.Began})
	}
	if s := left.sites[siteKey{pid: pid, meter: event.NumPy}]; s != nil && j.seen[pid] > 0 {
		s.unseen = true
	}
}
