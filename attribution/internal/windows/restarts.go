package windows

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// ConnectionFile returns the connection file that a kernel's command line names, "" if it names none. A kernel that is
// restarted keeps it (jupyter_client, KernelManager.restart_kernel).
func ConnectionFile(command string) string {
	words := strings.Fields(command)
	for i, word := range words {
		for _, option := range []string{"-f", "--f", "--IPKernelApp.connection_file", "--KernelApp.connection_file"} {
			if file, ok := strings.CutPrefix(word, option+"="); ok && strings.HasSuffix(file, ".json") {
				return file
			}
			if word == option && i+1 < len(words) && strings.HasSuffix(words[i+1], ".json") {
				return words[i+1]
			}
		}
	}
	return ""
}

// Restarts returns, for each process that replaced a kernel, the pid of that kernel: the process with the same tree and
// connection file that ended last before the new one began.
func (ps *Processes) Restarts() map[*Process]int {
	type kernelPlace struct {
		root uint32
		file string
	}
	file, ended := map[*Process]string{}, map[kernelPlace][]*Process{}
	for _, p := range ps.Order {
		if file[p] = ConnectionFile(p.Info.Command); file[p] != "" && p.Ended {
			key := kernelPlace{p.Root, file[p]}
			ended[key] = append(ended[key], p)
		}
	}
	for _, kernels := range ended {
		slices.SortStableFunc(kernels, func(a, b *Process) int { return cmp.Compare(a.Gone, b.Gone) })
	}
	out := map[*Process]int{}
	for p, name := range file {
		if name == "" || p.Parent == 0 {
			continue
		}
		if before := lastBefore(ended[kernelPlace{p.Root, name}], p); before != nil {
			out[p] = int(before.Info.PID)
		}
	}
	return out
}

// lastBefore returns the process that ended last before p began, nil for none. ended is in the order of ends. Of
// several processes that ended at that time, lastBefore returns the first.
func lastBefore(ended []*Process, p *Process) (before *Process) {
	n := sort.Search(len(ended), func(i int) bool { return ended[i].Gone > p.Began })
	for _, other := range slices.Backward(ended[:n]) {
		if before != nil && other.Gone < before.Gone {
			break
		}
		if other != p {
			before = other
		}
	}
	return before
}
