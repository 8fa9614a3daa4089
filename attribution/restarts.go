package attribution

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// connectionFile returns the connection file that a kernel's command line names, "" if it names none. A kernel that is
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

// restarts returns, by process, the pid of the kernel that it replaced: the last process of the same tree, with the
// same connection file, that ended before it began.
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

// lastBefore returns the process of ended, which is in order of the end, that ended last before p began; the first of
// several that ended at once.
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
