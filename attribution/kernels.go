package attribution

import "ipytracer/internal/words"

// met records that a process runs IPython, or a cell.
func (k *kernels) met(p *process) {
	if p.kernels == nil {
		p.kernels = k
		k.all = append(k.all, p)
	}
	k.stale = true
}

// settle computes the kernels' names.
func (k *kernels) settle() {
	if !k.stale {
		return
	}
	k.stale = false
	list := make([]words.Kernel, len(k.all))
	for i, p := range k.all {
		list[i] = words.Kernel{PID: int(p.info.PID), Notebook: p.info.Notebook}
	}
	for i, name := range words.KernelNames(list) {
		k.all[i].name = name
	}
}

// kernel returns the name of a process among several kernels; "" for a process that is none, and where there is only
// one.
func (p *process) kernel() string {
	if p == nil || p.kernels == nil {
		return ""
	}
	p.kernels.settle()
	return p.name
}

// canRunCells reports whether a user can type code into a process: an attached one, one that ran cells, or one with
// IPython that is not a kernel's forked copy.
func (p *process) canRunCells() bool {
	return p.parent == 0 || p.lastCell != nil || p.kernels != nil && p.copied == nil
}

// kernelAbove returns the name of a process or, where it is no kernel, of the nearest kernel above it.
func kernelAbove(processes map[int32]*process, pid int32) string {
	const deepest = 64
	p := processes[pid]
	for range deepest {
		if p == nil || p.kernels != nil {
			break
		}
		p = processes[p.parent]
	}
	return p.kernel()
}
