package plan

import (
	"ipytracer/internal/words"
	"ipytracer/model"
)

// beyondTree returns what the container of a cell had, at its highest in the cell, beyond the cell's processes and
// beyond page cache, which Linux can drop. It returns 0 without a limit: then the cgroup is of a user's whole session.
func beyondTree(w *model.Window) int64 {
	c := w.Container
	if c == nil || c.Limit == 0 || c.Parts == nil {
		return 0
	}
	anon, known := w.Together("cpu.resident.anon")
	shared, _ := w.Together("cpu.resident.shmem") // pages of files are in Parts.File already
	if !known {
		return 0
	}
	return max(0, c.AtLeast-c.Parts.File-anon.Peak-shared.Peak)
}

// besideProcesses returns the margin for what is charged to a container beside its processes' memory: what the runs'
// containers had, but at least a rule of thumb.
func besideProcesses(runs []*Run, need int64) model.PlanPart {
	out := model.PlanPart{Bytes: need/kernelShare + kernelBase, Of: words.MarginKernel}
	for _, r := range runs {
		if r.beyond > out.Bytes {
			out = model.PlanPart{Bytes: r.beyond, Of: words.MarginContainer}
		}
	}
	return out
}
