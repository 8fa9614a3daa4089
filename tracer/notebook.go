package tracer

import (
	"strings"

	"ipytracer/event"
	"ipytracer/internal/host/process"
	"ipytracer/internal/python/cpython"
)

// A kernel does not know which notebook it runs. The program that starts the kernel may have set it: a Jupyter server
// puts the notebook's path into the environment (JPY_SESSION_NAME), VS Code into a variable in the notebook. Both can
// be set by the user: they serve as a name for people to read, and nothing else.

const (
	sessionVariable = "JPY_SESSION_NAME"
	codesVariable   = "__vsc_ipynb_file__"

	maxNotebook = 1024 // bytes of a path; a longer one is not kept
)

// notebookOf returns the path of the notebook that a process says it runs, "" for none.
func notebookOf(fs process.FS, pid int, live *cpython.Interpreter) string {
	if path := live.Text("__main__", codesVariable); isPath(path) {
		return strings.ToValidUTF8(path, "\ufffd")
	}
	found, err := fs.Proc(pid).Variables(sessionVariable)
	if path := found[sessionVariable]; err == nil && isPath(path) {
		return strings.ToValidUTF8(path, "\ufffd")
	}
	return ""
}

func isPath(path string) bool { return path != "" && len(path) <= maxNotebook }

// renamed returns events for the targets that name another notebook than at the last look: VS Code sets its variable
// only once a kernel runs.
func renamed(fs process.FS, targets []*target) (news []event.Event) {
	for _, t := range targets {
		if t.gone || t.python == nil || t.python.inputs == 0 || !t.announced {
			continue
		}
		if now := notebookOf(fs, t.pid, t.python.live); now != "" && now != t.python.notebook {
			t.python.notebook = now
			news = append(news, &event.Process{ProcessInfo: t.info()})
		}
	}
	return news
}
