package words

import (
	"fmt"
	"path"
	"strings"

	"ipytracer/model"
)

// Reasons for the margin between the highest moment and a plan's limit.
const (
	MarginKernel    = "what the kernel keeps for it and charges to the container: page tables, stacks, sockets"
	MarginContainer = "what its container had beyond these processes and page cache: memory of Linux itself, tmpfs, " +
		"other processes"
	MarginBound = "by how much the highest moment can be off"
)

// MarginRuns says that another run may go higher than the n recorded ones, which differ little.
func MarginRuns(n int) string {
	if n == 1 {
		return "5 %: another run may go higher, and there is one recording"
	}
	return fmt.Sprintf("5 %%: another run may go higher; %d recordings differ by less", n)
}

// MarginSpread says that another run may go higher, by as much as the n recordings differ.
func MarginSpread(n int) string {
	return fmt.Sprintf("by how much the %d recordings differ: another run may go as much higher", n)
}

// PartOf returns the name of the part of memory that a meter counts: a part of resident memory, or of a GPU's.
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

// Settings returns, for each system that can run the notebook, the text to paste there. It returns an empty list for a
// plan without a demand for the CPU's memory.
func Settings(p *model.Plan) []model.Setting {
	memory, shared, gpus := demands(p)
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
	settings := []model.Setting{
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
		for i := range settings {
			settings[i].Text = fmt.Sprintf("# memory: ≥ %d MiB, it may need more: not all of the session was seen\n%s",
				limit, settings[i].Text)
		}
	}
	return settings
}

// demands returns the demand for the CPU's memory (nil for none), its bytes of shared memory, and a text for each GPU.
func demands(p *model.Plan) (memory *model.Demand, shared int64, gpus []string) {
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
	return memory, shared, gpus
}

// AtLeast returns the mark to put in front of a demand: "≥ " if it is only a lower bound, else "".
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

// PlaceNames joins the names of lines, not escaped: "In[2] line 1 and In[3] line 4".
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

// Fall describes how much lower the peak would be without a line, and where it would then be. It is not escaped.
func Fall(l *model.PlanLine) string {
	switch {
	case l.Fall > 0:
		return "without it " + Bytes(l.Fall) + " lower, " + ThenDecides(l.Then)
	case l.Then == nil:
		return "without it as high, between two cells"
	}
	return "without it as high, in " + PlaceName(l.Then)
}

// ThenDecides is [Decides] for the peak that remains without some lines.
func ThenDecides(p *model.PlanPlace) string { return "then " + Decides(p) }

// Decides says that the peak is at p; nil is the time between two cells.
func Decides(p *model.PlanPlace) string {
	if p == nil {
		return "it is highest between two cells"
	}
	return PlaceName(p) + " decides with " + Bytes(p.Peak)
}

// NoTriedChange says that a trial found no change for a plan to use.
func NoTriedChange() string {
	return "the trial has no change that keeps all results and saves memory for certain"
}

// OtherWorkTried says that a trial does not match a plan: the trial took tried bytes of a meter, the plan's recordings
// took need.
func OtherWorkTried(tried int64, meter string, need int64) string {
	return fmt.Sprintf("the notebook that was tried took %s of %s, these recordings %s: "+
		"it is not the same work, so what the change saves is left out", Bytes(tried), Meter(meter), Bytes(need))
}
