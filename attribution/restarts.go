package attribution

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// connectionFile is the file that a kernel's command line says it talks through, "" if it names none. A kernel that is
// restarted keeps it (jupyter_client, KernelManager.restart_kernel).
func connectionFile(command string) string {
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

// restarts are, by process, the pid of the kernel in whose place it was started: the last one with the same connection
// file that ended before it, of the same tree.
func (ps *processes) restarts() map[*process]int {
	type place struct {
		root uint32
		file string
	}
	file, ended := map[*process]string{}, map[place][]*process{}
	for _, p := range ps.order {
		if file[p] = connectionFile(p.info.Command); file[p] != "" && p.ended {
			of := place{p.root, file[p]}
			ended[of] = append(ended[of], p)
		}
	}
	for _, of := range ended {
		slices.SortStableFunc(of, func(a, b *process) int { return cmp.Compare(a.gone, b.gone) })
	}
	out := map[*process]int{}
	for p, name := range file {
		if name == "" || p.parent == 0 {
			continue
		}
		if before := lastBefore(ended[place{p.root, name}], p); before != nil {
			out[p] = int(before.info.PID)
		}
	}
	return out
}

// lastBefore is the process that ended last before another began, of those that ended, in that order; the first of
// several at once.
func lastBefore(ended []*process, p *process) (before *process) {
	n := sort.Search(len(ended), func(i int) bool { return ended[i].gone > p.began })
	for _, other := range slices.Backward(ended[:n]) {
		if before != nil && other.gone < before.gone {
			break
		}
		if other != p {
			before = other
		}
	}
	return before
}
