package windows

import "ipytracer/internal/words"

// Add adds a process that runs IPython or a cell. The names of all kernels may change.
func (k *kernels) Add(p *Process) {
	if p.kernels == nil {
		p.kernels = k
		k.all = append(k.all, p)
	}
	k.stale = true
}

// updateNames computes the kernels' names again, if they are stale.
func (k *kernels) updateNames() {
	if !k.stale {
		return
	}
	k.stale = false
	list := make([]words.Kernel, len(k.all))
	for i, p := range k.all {
		list[i] = words.Kernel{PID: int(p.Info.PID), Notebook: p.Info.Notebook}
	}
	for i, name := range words.KernelNames(list) {
		k.all[i].name = name
	}
}

// Kernel returns the name of a process among several kernels. It returns "" if the process is no kernel, or the only
// one.
func (p *Process) Kernel() string {
	if p == nil || p.kernels == nil {
		return ""
	}
	p.kernels.updateNames()
	return p.name
}

// CanRunCells reports whether a user can type code into a process: an attached one, one that ran cells, or one with
// IPython that is not a kernel's forked copy.
func (p *Process) CanRunCells() bool {
	return p.Parent == 0 || p.LastCell != nil || p.kernels != nil && p.Copied == nil
}

// KernelAbove returns the name of a process or, where it is no kernel, of the nearest kernel above it.
func KernelAbove(processes map[int32]*Process, pid int32) string {
	const deepest = 64
	p := processes[pid]
	for range deepest {
		if p == nil || p.kernels != nil {
			break
		}
		p = processes[p.Parent]
	}
	return p.Kernel()
}
