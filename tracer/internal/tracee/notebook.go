package tracee

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

// NotebookOf returns the path of the notebook that a process says it runs, "" for none.
func NotebookOf(fs process.FS, pid int, live *cpython.Interpreter) string {
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

// Renamed returns events for the targets that name another notebook than at the last look: VS Code sets its variable
// only once a kernel runs.
func Renamed(fs process.FS, targets []*Target) (news []event.Event) {
	for _, t := range targets {
		if t.Gone || t.Python == nil || t.Python.Inputs == 0 || !t.Announced {
			continue
		}
		if now := NotebookOf(fs, t.PID, t.Python.Live); now != "" && now != t.Python.Notebook {
			t.Python.Notebook = now
			news = append(news, &event.Process{ProcessInfo: t.Info()})
		}
	}
	return news
}
