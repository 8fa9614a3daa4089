package attribution

import "strings"

// connectionFile is the file that a kernel's command line says it talks through, "" if it names none. A kernel that is restarted
// keeps it (jupyter_client, KernelManager.restart_kernel).
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

// restartOf is the pid of the kernel in whose place a process was started, 0 for none: the last one with the same connection file that
// ended before it, of the same tree.
func (t *Tracker) restartOf(p *process) int {
	file := connectionFile(p.info.Command)
	if file == "" || p.parent == 0 {
		return 0
	}
	before := (*process)(nil)
	for _, other := range t.order {
		if other == p || other.root != p.root || !other.ended || other.gone > p.began || connectionFile(other.info.Command) != file {
			continue
		}
		if before == nil || other.gone > before.gone {
			before = other
		}
	}
	if before == nil {
		return 0
	}
	return int(before.info.PID)
}
