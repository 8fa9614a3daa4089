package process

import (
	"cmp"
	"context"
	"errors"
	"path"
	"runtime"
	"strings"
	"sync"
)

// Kind is a guess at what a Python process is used for.
type Kind uint8

// The kinds of Python processes.
const (
	Script   Kind = iota // any other Python program
	Kernel               // an IPython kernel, driven by a front end over sockets
	Terminal             // IPython in a terminal
)

// String returns "script", "kernel" or "terminal".
func (k Kind) String() string {
	switch k {
	case Kernel:
		return "kernel"
	case Terminal:
		return "terminal"
	}
	return "script"
}

// KindOf guesses the kind of a Python process from its command line, with the program's name as the first argument.
func KindOf(args []string) Kind {
	kind, _ := parseEntry(args).kind()
	return kind
}

// NamedLikePython reports whether the name or the command line of a process, which every user may read, is Python's.
func (fs FS) NamedLikePython(st Stat) bool {
	if namedLikePython(st.Comm) || strings.HasPrefix(st.Comm, "ipython") {
		return true
	}
	command, err := fs.Proc(st.PID).Cmdline()
	return err == nil && len(command.Args) > 0 && namedLikePython(path.Base(command.Args[0]))
}

// entry is the Python program that a command line of the interpreter starts.
type entry struct {
	module string   // after -m
	script string   // without -m: the first argument that is no option
	args   []string // the arguments of the Python program
}

// parseEntry parses a command line as CPython does (python --help; Python/initconfig.c). Options may stand in clusters.
// The values of -m, -c, -W and -X are attached, or are the next argument.
func parseEntry(args []string) entry {
	if len(args) == 1 && strings.Contains(args[0], " ") {
		args = strings.Fields(args[0]) // the process has rewritten its command line
	}
	for i := 1; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--check-hash-based-pycs":
			i++
		case strings.HasPrefix(arg, "--"):
		case len(arg) < 2 || arg[0] != '-':
			return entry{script: arg, args: args[i+1:]}
		default:
			at := strings.IndexAny(arg, "mcWX")
			if at < 0 {
				continue
			}
			value, next := arg[at+1:], i
			if value == "" && i+1 < len(args) {
				next = i + 1
				value = args[next]
			}
			switch arg[at] {
			case 'm':
				return entry{module: value, args: args[next+1:]}
			case 'c':
				return entry{args: args[next+1:]}
			}
			i = next
		}
	}
	return entry{}
}

// kernelModules are programs that start kernels, by module or script name, with the front end if only one uses them.
var kernelModules = map[string]string{
	"ipykernel":              "",
	"ipykernel_launcher":     "",
	"ipykernel.kernelapp":    "",
	"colab_kernel_launcher":  "Colab",
	"db_ipykernel_launcher":  "Databricks",
	"spyder_kernels":         "Spyder",
	"spyder_kernels.console": "Spyder",
}

// name returns the name of the program's module, or of its script without .py.
func (e entry) name() string {
	if e.module != "" {
		return e.module
	}
	return strings.TrimSuffix(path.Base(e.script), ".py")
}

// kind guesses the kind of the process, and its front end if the entry alone shows that; else frontend is "".
func (e entry) kind() (kind Kind, frontend string) {
	name := e.name()
	if front, ok := kernelModules[name]; ok {
		return Kernel, front
	}
	switch {
	case strings.Contains(e.script, "/ipykernel_launcher"), strings.Contains(e.script, "/ipykernel/"):
		return Kernel, ""
	case strings.HasPrefix(strings.ToLower(name), "ipython"):
		if len(e.args) > 0 && e.args[0] == "kernel" {
			return Kernel, ""
		}
		return Terminal, "terminal"
	}
	return Script, ""
}

// workerPrograms are the programs that run or start workers of Dask, by module or script name.
var workerPrograms = map[string]bool{
	"dask-worker": true, "distributed.cli.dask_worker": true, "dask_worker": true,
	"dask-spec": true, "distributed.cli.dask_spec": true, "dask_spec": true,
}

// isWorker reports whether a command line runs or starts workers of Dask: `dask worker`, `dask-worker`,
// `python -m distributed.cli.dask_worker`. If the package setproctitle is installed, a worker's command line is the
// single argument "dask worker [ADDRESS]".
func isWorker(args []string) bool {
	if len(args) == 1 {
		return strings.HasPrefix(args[0], "dask worker [")
	}
	e := parseEntry(args)
	name := e.name()
	if name == "dask" && len(e.args) > 0 {
		return e.args[0] == "worker" || e.args[0] == "spec"
	}
	return workerPrograms[name]
}

// connectionFile returns the connection file in a kernel's command line (-f, --f, --f=, --connection-file=), or "".
func connectionFile(args []string) string {
	for i, arg := range args {
		switch {
		case (arg == "-f" || arg == "--f") && i+1 < len(args):
			return args[i+1]
		case strings.HasPrefix(arg, "-f="), strings.HasPrefix(arg, "--f="):
			_, file, _ := strings.Cut(arg, "=")
			return file
		case strings.Contains(arg, "connection_file="), strings.HasPrefix(arg, "--connection-file="):
			_, file, _ := strings.Cut(arg, "=")
			return file
		}
	}
	return ""
}

// frontendOfFile guesses the front end from a connection file's name. VS Code's are kernel-v2-… or kernel-v3….
func frontendOfFile(file string) string {
	if strings.HasPrefix(path.Base(file), "kernel-v2-") || strings.HasPrefix(path.Base(file), "kernel-v3") {
		return "VS Code"
	}
	return ""
}

// parents are the programs that start kernels, by the beginning of their module or script name. The first match counts.
var parents = []struct{ prefix, frontend string }{
	{"jupyterhub", "JupyterHub"},
	{"jupyter-labhub", "JupyterHub"},
	{"jupyter-lab", "JupyterLab"},
	{"jupyterlab", "JupyterLab"},
	{"jupyter-notebook", "Jupyter Notebook"},
	{"notebook", "Jupyter Notebook"},
	{"jupyter-nbconvert", "nbconvert"},
	{"nbconvert", "nbconvert"},
	{"jupyter-execute", "nbclient"},
	{"papermill", "papermill"},
	{"jupyter-console", "Jupyter console"},
	{"jupyter_console", "Jupyter console"},
	{"jupyter-qtconsole", "Qt console"},
	{"jupyter-server", "Jupyter Server"},
	{"jupyter_server", "Jupyter Server"},
	{"marimo", "marimo"},
	{"spyder", "Spyder"},
}

// frontendOfParent guesses the front end from the command line of a kernel's parent.
func frontendOfParent(args []string) string {
	e := parseEntry(args)
	name := cmp.Or(e.module, path.Base(e.script))
	if (name == "jupyter" || strings.HasPrefix(name, "jupyter.")) && len(e.args) > 0 {
		name = "jupyter-" + e.args[0]
	}
	for _, parent := range parents {
		if strings.HasPrefix(name, parent.prefix) {
			return parent.frontend
		}
	}
	return ""
}

// Python is a process that runs a Python interpreter and can be looked into. All strings are the process's own.
type Python struct {
	Identity
	ParentPID     int
	NamespacePID  int // its pid in its own pid namespace, as its users know it inside a container
	UID           uint32
	User          string // name of UID, or the number
	Command       Command
	Cwd           string // "" where it cannot be read
	ResidentBytes int64
	Threads       int
	Interpreter   Mapping // the first executable mapping of the file with the interpreter

	Kind           Kind
	Frontend       string // a guess: "JupyterLab", "VS Code", "terminal", …; "" if nothing shows it
	ConnectionFile string // the kernel's connection file; "" if its command line names none
	GPUs           []int  // see [Proc.GPUs]
	Worker         bool   // its command line runs or starts workers of Dask
}

// Listing has the Python processes of a machine.
type Listing struct {
	Pythons []Python // by ascending pid

	// Hidden is the number of processes that this program may not look into, so that they may run Python or not.
	// HiddenPythons is how many of them are named like Python.
	Hidden        int
	HiddenPythons int
}

// Pythons finds all Python processes that can be attached to. It leaves out processes that end meanwhile, and counts
// those that it may not look into. To be quick it opens only files that are named like an interpreter, and each file
// once. So only [Image.InterpreterFile] finds an interpreter that is a part of a program with another name.
//
// A hostile process can make reads of its mappings or files hang. If the context ends before the search does, Pythons
// returns the processes found so far together with the context's error.
func (fs FS) Pythons(ctx context.Context, detect Detect) (Listing, error) {
	stats, err := fs.Stats()
	if err != nil {
		return Listing{}, err
	}
	s := fs.NewSearch(func(f *MappedFile) bool { return detect(f.File) })
	work := make(chan Stat, len(stats))
	for _, st := range stats {
		if !st.Ended() && !st.KernelThread() {
			work <- st
		}
	}
	close(work)

	var workers sync.WaitGroup
	for range max(2, min(8, runtime.GOMAXPROCS(0))) {
		workers.Go(func() {
			for st := range work {
				if ctx.Err() != nil {
					return
				}
				s.add(st)
			}
		})
	}
	finished := make(chan struct{})
	go func() { workers.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-ctx.Done():
	}
	return s.result(), ctx.Err()
}

// Python examines one process. The error may match [ErrNoProcess], [ErrZombie], [ErrNotPermitted] or [ErrNotPython].
func (fs FS) Python(pid int, detect Detect) (Python, error) {
	st, err := fs.Proc(pid).Stat()
	if err != nil {
		return Python{}, err
	}
	s := fs.NewSearch(func(f *MappedFile) bool { return detect(f.File) })
	interpreter, err := s.interpreter(pid)
	if errors.Is(err, ErrNotPython) {
		interpreter, err = s.anyInterpreter(pid)
	}
	if err != nil {
		return Python{}, err
	}
	return s.describe(st, interpreter)
}
