package words

import (
	"fmt"
	"path"
	"strings"

	"ipytracer/model"
)

// Reasons for the margin of a plan.
const (
	MarginKernel = "what the kernel keeps for it and charges to the container: page tables, stacks, sockets"
	MarginBound  = "by how much the highest moment can be off"
)

// MarginRuns says that another run may go higher than the recorded ones.
func MarginRuns(n int) string {
	if n == 1 {
		return "5 %: another run may go higher, and there is one recording"
	}
	return fmt.Sprintf("5 %%: another run may go higher; %d recordings differ by less", n)
}

// MarginSpread says that the recordings differ.
func MarginSpread(n int) string {
	return fmt.Sprintf("by how much the %d recordings differ: another run may go as much higher", n)
}

// PartOf returns the name of a part of resident memory, or of a GPU's.
func PartOf(id string) string {
	switch id[strings.LastIndex(id, ".")+1:] {
	case "anon":
		return "anonymous memory: what programs allocate; it cannot be given back without swap"
	case "file":
		return "pages of files (libraries, mapped data), counted once for each process: " +
			"the kernel can drop and read them again"
	case "shmem":
		return "shared memory (/dev/shm, what workers of torch and joblib share)"
	case "driver":
		return "what was taken through the CUDA driver"
	case "unattributed":
		return "CUDA context, loaded kernels and libraries (sampled)"
	}
	return Meter(id)
}

// mebibytes formats a size in whole MiB, rounded up.
func mebibytes(bytes int64) int64 { return (bytes + 1<<20 - 1) >> 20 }

// Settings returns the texts to paste for a plan where a notebook is to run.
func Settings(p *model.Plan) []model.Setting {
	var memory *model.Demand
	var gpus []string
	shared := int64(0)
	for i := range p.Demands {
		d := &p.Demands[i]
		if OfGPU(d.Meter) {
			gpus = append(gpus, fmt.Sprintf("%s needs %s%s",
				strings.TrimSuffix(Meter(d.Meter), " driver"), AtLeast(d), Bytes(d.Limit)))
			continue
		}
		memory = d
		for _, part := range d.Parts {
			if part.Of == PartOf("cpu.resident.shmem") {
				shared = part.Bytes
			}
		}
	}
	if memory == nil {
		return []model.Setting{}
	}
	request, limit := mebibytes(memory.Need), mebibytes(memory.Limit)
	kubernetes := fmt.Sprintf("resources:\n  requests:\n    memory: %dMi\n  limits:\n    memory: %dMi\n",
		request, limit)
	slurm := fmt.Sprintf("#SBATCH --mem=%dM\n", limit)
	docker := fmt.Sprintf("docker run --memory=%dm --memory-swap=%dm", limit, limit)
	if size := mebibytes(shared); size > 0 {
		docker += fmt.Sprintf(" --shm-size=%dm", size+size/4)
	}
	if n := len(gpus); n > 0 {
		note := strings.Join(gpus, ", ")
		kubernetes += fmt.Sprintf("    nvidia.com/gpu: %d  # %s\n", n, note)
		slurm += fmt.Sprintf("#SBATCH --gres=gpu:%d  # %s\n", n, note)
		docker += fmt.Sprintf(" --gpus %d", n)
	}
	all := []model.Setting{
		{For: "Kubernetes", Text: kubernetes},
		{For: "Slurm", Text: slurm},
		{For: "Docker, with papermill", Text: docker + " IMAGE papermill in.ipynb out.ipynb\n"},
		{
			For: "systemd",
			Text: fmt.Sprintf("systemd-run --user --scope -p MemoryMax=%dM -p MemorySwapMax=0 papermill "+
				"in.ipynb out.ipynb\n", limit),
		},
	}
	if memory.AtLeast() {
		for i := range all {
			all[i].Text = fmt.Sprintf("# memory: ≥ %d MiB, it may need more: not all of the session was seen\n%s",
				limit, all[i].Text)
		}
	}
	return all
}

// AtLeast returns the mark in front of a plan's figure that is only a lower bound, "" for others.
func AtLeast(d *model.Demand) string {
	if d.AtLeast() {
		return "≥ "
	}
	return ""
}

// PlaceName returns the name of a place of a plan for people, not escaped: "In[3] line 2".
func PlaceName(p *model.PlanPlace) string {
	text := ""
	switch {
	case p.Execution > 0 || p.ExecutionCount != nil:
		text = Cell(p.Execution, countOf(p.ExecutionCount), false) + OfKernel(p.Kernel)
	case p.File != "":
		text = path.Base(p.File)
	default:
		return "(no Python code, or not known)"
	}
	return inLine(text, p.Line, p.Function)
}

// PlaceNames returns the names of some lines, not escaped: "In[2] line 1 and In[3] line 4".
func PlaceNames(lines []model.PlanLine) string {
	text := ""
	for i := range lines {
		switch {
		case i > 0 && i == len(lines)-1:
			text += " and "
		case i > 0:
			text += ", "
		}
		text += PlaceName(&lines[i].PlanPlace)
	}
	return text
}

// Fall describes the effect of leaving out a line, not escaped.
func Fall(l *model.PlanLine) string {
	switch {
	case l.Fall > 0:
		return "without it " + Bytes(l.Fall) + " lower, " + ThenDecides(l.Then)
	case l.Then == nil:
		return "without it as high, between two cells"
	}
	return "without it as high, in " + PlaceName(l.Then)
}

// ThenDecides describes the place of the peak without some lines.
func ThenDecides(p *model.PlanPlace) string { return "then " + Decides(p) }

// Decides describes the place of the peak; nil is the time between two cells.
func Decides(p *model.PlanPlace) string {
	if p == nil {
		return "it is highest between two cells"
	}
	return PlaceName(p) + " decides with " + Bytes(p.Peak)
}

// NoTriedChange says that a trial has nothing for a plan.
func NoTriedChange() string {
	return "the trial has no change that keeps all results and saves memory for certain"
}

// OtherWorkTried says that a trial was of other work than a plan: its need differs.
func OtherWorkTried(tried int64, meter string, need int64) string {
	return fmt.Sprintf("the notebook that was tried took %s of %s, these recordings %s: "+
		"it is not the same work, so what the change saves is left out", Bytes(tried), Meter(meter), Bytes(need))
}
