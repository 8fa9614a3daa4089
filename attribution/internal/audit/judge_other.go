package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ipytracer/attribution/internal/course"
	"ipytracer/attribution/internal/rows"
	"ipytracer/attribution/internal/stacks"
	"ipytracer/attribution/internal/windows"
	"ipytracer/event"
	"ipytracer/model"
)

// fragmented judges PyTorch's caches. Free memory between blocks in use cannot be given back to the driver. It is
// reported if PyTorch took more memory from the driver although as much was free in its cache.
func (j *judge) fragmented() {
	for _, key := range slices.SortedFunc(maps.Keys(j.audit.torch.devices),
		func(a, b course.Key) int { return cmp.Or(cmp.Compare(a.Meter, b.Meter), cmp.Compare(a.PID, b.PID)) }) {
		if !j.isJudgedProcess(key.PID) {
			continue
		}
		d := j.audit.torch.devices[key]
		inPieces := j.inPieces(key)
		if d.times == 0 || inPieces < d.reserved/8 || inPieces < max(j.least, largeSegment) {
			continue // a cache keeps free memory by design
		}
		number, _, _ := key.Meter.Device()
		f := &verdictInWork{portion: &portion{bytes: inPieces, count: d.times, oldest: d.first,
			runs: map[*windows.Window]event.Bytes{}}}
		for _, b := range d.births {
			f.portion.runs[b.Cell] += 1
			if b.Line > 0 {
				f.Stack = []model.Frame{windows.FrameOf(b.Cell, b.Line)}
			}
		}
		f.reserved, f.grown = d.reserved, d.grown
		k := verdictKey{kind: model.Fragmentation, pid: key.PID, meter: event.OfDevice(number, event.Reserved)}
		j.verdicts[k] = f
		j.order = append(j.order, k)
	}
}

// inPieces returns the free bytes in the segments of PyTorch in which a block is in use: torch.cuda.memory_stats calls
// them inactive_split_bytes. Expandable segments are left out: their addresses do not come from the driver.
func (j *judge) inPieces(key course.Key) (free event.Bytes) {
	number, _, _ := key.Meter.Device()
	var segments, blocks []extent
	for at, b := range j.audit.live[key.PID] {
		switch at.meter {
		case event.OfDevice(number, event.Driver):
			if j.audit.torch.blocks[stacks.BlockKey{Key: course.Key{PID: key.PID, Meter: at.meter},
				Address: at.address}] {
				segments = append(segments, extent{at.address, b.size})
			}
		case key.Meter:
			blocks = append(blocks, extent{at.address, b.size})
		}
	}
	slices.SortFunc(blocks, func(a, b extent) int { return cmp.Compare(a.at, b.at) })
	for _, s := range segments {
		if used := within(blocks, s.at, s.size); used > 0 && used < s.size {
			free += s.size - used
		}
	}
	return free
}

// children judges processes that a cell started and that still run, long after the cell.
func (j *judge) children() {
	for _, p := range j.t.Processes.Order {
		b := j.audit.births.started[p.Info.PID]
		if p.Parent == 0 || !p.Alive || p.Ended || b == nil || b.Cell == nil || b.Cell.IsOpen ||
			rows.IsHelper(p.Info.Command) {
			continue
		}
		root := b.Cell.Process.Info.PID
		if !j.isJudgedProcess(root) {
			continue
		}
		key := verdictKey{kind: model.ChildAlive, pid: root, meter: event.Resident, text: j.t.Texts.TextOf(b.Cell),
			line: fmt.Sprint(b.Line), holder: p.Info.Command}
		pool, isPool := rows.PoolOf(p.Info.Command, cmp.Or(j.audit.pools[p.Info.PID], p.Pool))
		endedBy := rows.Enders{Processes: j.t.Processes, Namespaces: j.t.Namespaces}.Of(p, pool.Name)
		if isPool {
			endedBy.Pool = pool.Name
			key = verdictKey{kind: model.IdlePool, pid: root, meter: event.Resident, holder: pool.Name}
		}
		key.line += " " + strings.Join(endedBy.Calls, " ")
		own := j.t.Processes.OwnValue(p, event.Resident)
		child := &portion{bytes: own, count: 1, oldest: p.Began, runs: map[*windows.Window]event.Bytes{b.Cell: own},
			largest: own}
		f := j.verdicts[key]
		if f == nil {
			f = &verdictInWork{portion: child, command: p.Info.Command, endedBy: endedBy}
			if b.Line > 0 {
				f.Stack = []model.Frame{windows.FrameOf(b.Cell, b.Line)}
			}
			j.verdicts[key] = f
			j.order = append(j.order, key)
		} else {
			f.portion = sumOf(f.portion, child)
		}
		f.children = append(f.children, int(p.Info.PID))
	}
}

// describe lists the audited processes, and the parts that were not judged.
func (j *judge) describe(out *model.Audit) {
	for _, p := range j.t.Processes.Order {
		starved := p.Last.Ending != nil && p.Last.Ending.OutOfMemory
		if p.Began == 0 || p.Session == nil && !starved && j.only == 0 || !j.isJudgedProcess(p.Info.PID) {
			continue
		}
		process := model.AuditProcess{
			PID: int(p.Info.PID), Command: p.Info.Command, Python: p.Info.Python, IPython: p.Info.IPython,
			Ended: p.Ended, Ending: windows.EndingOf(p), Late: p.Info.Late,
			Notebook: p.Info.Notebook, Kernel: p.Kernel(),
		}
		if h := j.audit.holders[p.Info.PID]; h != nil {
			process.Objects = h.objects
		}
		out.Processes = append(out.Processes, process)
	}
	j.unjudged()
	out.NotJudged = j.notJudged
	out.Complete = len(j.notJudged) == 0
}
