package text

import (
	"cmp"
	"fmt"
	"strings"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// headerView shows the subject of a session: processes, devices, the session, the machine.
type headerView struct{ *view }

// header names the traced processes, the duration and the machine.
func (v headerView) header() {
	version := ""
	if v.r.Host.Tracer != "" {
		version = " " + escape.Bounded(v.r.Host.Tracer, maxName)
	}
	v.Prose("", doc.Bold("ipytracer"+version), doc.Dim(" · exact memory of every cell"))
	v.Blank()
	for _, p := range v.r.Processes {
		if p.Parent == 0 || v.pids[p.PID] {
			v.root(p)
		}
	}
	v.session()
	v.host()
}

// versions returns the kind of a process, and its versions.
func versions(p model.Process) (name string, parts []doc.Span) {
	name, parts = "process", []doc.Span{doc.Plain(fmt.Sprintf("pid %d", p.PID))}
	if p.Notebook != "" {
		parts = append(parts, doc.Plain(cmp.Or(p.Kernel, words.NotebookName(p.Notebook))))
	}
	if p.Python != "" {
		parts = append(parts, doc.Plain("Python "+escape.Bounded(p.Python, maxName)))
	}
	if p.IPython != "" {
		name = "kernel"
		parts = append(parts, doc.Plain("IPython "+escape.Bounded(p.IPython, maxName)))
	}
	return name, parts
}

// origin returns where a process came from.
func origin(p model.Process) (parts []doc.Span) {
	if p.Parent != 0 {
		parts = append(parts, doc.Plain(fmt.Sprintf("started by pid %d", p.Parent)))
	}
	if p.RestartOf != 0 {
		parts = append(parts, doc.Plain(fmt.Sprintf("restart of pid %d", p.RestartOf)))
	}
	if p.Ending != nil && p.Ending.IsShutDown(p.IPython) {
		parts = append(parts,
			doc.Plain("shut down by "+escape.Bounded(p.Ending.Signal, maxName)+" when no cell ran"))
	}
	return parts
}

// root describes one attached process.
func (v headerView) root(p model.Process) {
	late := ""
	name, parts := versions(p)
	parts = append(parts, origin(p)...)
	if p.Late {
		late = "already running when tracing began"
	}
	v.Field(name, parts, escape.Bounded(p.Frontend, maxName), late)
	v.Field("command", escape.Bounded(p.Command, maxProse))
	if p.SoftLimit != nil {
		v.Field("limit", words.Bytes(p.SoftLimit.Bytes)+" of mapped", words.LimitedBy(p.SoftLimit, p.PID))
	}
	v.MemoryLimits(p)
	life := v.life(p)
	for i, id := range v.meters {
		if _, ok := life[id]; !ok {
			continue
		}
		number, isGPU := gpuOf(id)
		switch {
		case isGPU:
			v.Field(fmt.Sprintf("GPU %d", number), gpuNames(v.r, number, true), course(life, id))
		case i == 0:
			v.Field(words.Meter(id), course(life, id))
		}
	}
}

// course describes a meter over a process's life: "1 MiB at the start", "9 MiB at its highest", "2 MiB at the end".
func course(figures map[string]model.Figure, id string) []doc.Span {
	return doc.Spans(words.Start.At(figures, id)+" at the start", words.Highest.At(figures, id)+" at its highest",
		words.Total.At(figures, id)+" at the end")
}

// gpuOf returns the device of a driver meter.
func gpuOf(id string) (number int, ok bool) {
	var rest string
	n, err := fmt.Sscanf(id, "gpu.%d.%s", &number, &rest)
	return number, err == nil && n == 2 && rest == "driver"
}

// gpuNames returns the name and size of a device; with all, its UUID and PCI address, too. It returns nil for an
// unknown device.
func gpuNames(r *model.Report, number int, all bool) []doc.Span {
	for _, g := range r.GPUs {
		if g.Index != number {
			continue
		}
		g.Name = escape.Bounded(g.Name, maxDevice)
		spans := []doc.Span{doc.Plain(words.Device(&g))}
		if all {
			spans = append(spans, doc.Plain(escape.Bounded(g.UUID, 2*maxName)),
				doc.Plain(escape.Bounded(g.PCIBusID, maxName)))
		}
		return spans
	}
	return nil
}

// maxDevice is the shown length of a GPU's name: "NVIDIA RTX 6000 Ada Generation (MIG 1g.12gb)".
const maxDevice = 48

// devices shows a line for each used GPU: its name, its memory, and how much each kernel took of it.
func (v headerView) devices() {
	for _, id := range v.meters {
		number, ok := gpuOf(id)
		if !ok {
			continue
		}
		parts := gpuNames(v.r, number, false)
		for _, p := range v.kernels() {
			if life := v.life(p); life[id].Peak > 0 {
				taken := words.Highest.At(life, id) + " at its highest"
				if len(v.kernels()) > 1 {
					taken += fmt.Sprintf(" of pid %d", p.PID)
				}
				parts = append(parts, doc.Plain(taken))
			}
		}
		v.Field(fmt.Sprintf("GPU %d", number), parts)
	}
}

func (v headerView) session() {
	length := v.length
	for _, p := range v.r.Processes {
		length = max(length, p.EndNS)
	}
	ended, failed := "", ""
	if v.r.Certificate.Finished != "" {
		ended = "ended: " + escape.Bounded(v.r.Certificate.Finished, maxProse)
	}
	if v.bad > 0 {
		failed = fmt.Sprintf("%d did not end ok", v.bad)
	}
	v.Field("session", words.Plural(len(v.cells), "cell")+" in "+words.Duration(length), doc.Red(failed), ended)
}

func (v headerView) host() {
	h := v.r.Host
	kernel, cpus, memory := escape.Bounded(h.Kernel, maxName), "", ""
	if kernel != "" && !strings.HasPrefix(kernel, "Linux") {
		kernel = "Linux " + kernel
	}
	if h.CPUs > 0 {
		cpus = words.Plural(h.CPUs, "CPU")
	}
	if h.Memory > 0 {
		memory = words.Bytes(h.Memory) + " of memory"
	}
	v.Field("host", escape.Bounded(h.Name, maxName), kernel, cpus, memory,
		escape.Bounded(words.Clock(h.Started), maxName))
}

// about describes, in a line each, the processes that run cells, the GPUs and the session.
func (v headerView) about() {
	v.begin()
	for _, p := range v.kernels() {
		name, parts := versions(p)
		parts = append(parts, doc.Plain(escape.Bounded(p.Frontend, maxName)))
		parts = append(parts, origin(p)...)
		if p.IPython == "" {
			parts = append(parts, doc.Plain(escape.Bounded(p.Command, maxProse)))
		}
		if p.Late {
			parts = append(parts, doc.Plain("was running before"))
		}
		v.Field(name, parts)
		v.MemoryLimits(p)
		if len(v.cells) == 0 {
			v.Field(words.Meter(v.first()), course(v.life(p), v.first()))
		}
	}
	v.devices()
	v.session()
}
