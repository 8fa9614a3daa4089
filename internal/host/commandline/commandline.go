// Package commandline reads command lines of Python processes: the program, and the front end it belongs to.
package commandline

import (
	"cmp"
	"path"
	"strings"
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
	kind, _ := Parse(args).Kind()
	return kind
}

// Entry is the Python program that a command line of the interpreter starts.
type Entry struct {
	Module string   // after -m
	Script string   // without -m: the first argument that is no option
	Args   []string // the arguments of the Python program
}

// Parse parses a command line as CPython does (python --help; Python/initconfig.c). Options may stand in clusters.
// The values of -m, -c, -W and -X are attached, or are the next argument.
func Parse(args []string) Entry {
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
			return Entry{Script: arg, Args: args[i+1:]}
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
				return Entry{Module: value, Args: args[next+1:]}
			case 'c':
				return Entry{Args: args[next+1:]}
			}
			i = next
		}
	}
	return Entry{}
}

// Marimo is the name of a front end, and of its program.
const Marimo = "marimo"

// kernelModules are programs that start kernels, by module or script name, with the front end if only one uses them.
var kernelModules = map[string]string{
	"ipykernel":              "",
	"ipykernel_launcher":     "",
	"ipykernel.kernelapp":    "",
	"colab_kernel_launcher":  "Colab",
	"db_ipykernel_launcher":  "Databricks",
	"spyder_kernels":         "Spyder",
	"spyder_kernels.console": "Spyder",

	"marimo._ipc.launch_kernel": Marimo,
}

// name returns the name of the program's module, or of its script without .py.
func (e Entry) name() string {
	if e.Module != "" {
		return e.Module
	}
	return strings.TrimSuffix(path.Base(e.Script), ".py")
}

// Kind guesses the kind of the process, and its front end if the entry alone shows that; else frontend is "".
func (e Entry) Kind() (kind Kind, frontend string) {
	name := e.name()
	if front, ok := kernelModules[name]; ok {
		return Kernel, front
	}
	switch {
	case strings.Contains(e.Script, "/ipykernel_launcher"), strings.Contains(e.Script, "/ipykernel/"):
		return Kernel, ""
	case strings.HasPrefix(strings.ToLower(name), "ipython"):
		if len(e.Args) > 0 && e.Args[0] == "kernel" {
			return Kernel, ""
		}
		return Terminal, "terminal"
	}
	return Script, ""
}

// Spawned is the last argument of a process that Python's multiprocessing has spawned.
const Spawned = "--multiprocessing-fork"

// workerPrograms are the programs that run or start workers of Dask, by module or script name.
var workerPrograms = map[string]bool{
	"dask-worker": true, "distributed.cli.dask_worker": true, "dask_worker": true,
	"dask-spec": true, "distributed.cli.dask_spec": true, "dask_spec": true,
}

// IsWorker reports whether a command line runs or starts workers of Dask: `dask worker`, `dask-worker`,
// `python -m distributed.cli.dask_worker`. If the package setproctitle is installed, a worker's command line is the
// single argument "dask worker [ADDRESS]".
func IsWorker(args []string) bool {
	if len(args) == 1 {
		return strings.HasPrefix(args[0], "dask worker [")
	}
	e := Parse(args)
	name := e.name()
	if name == "dask" && len(e.Args) > 0 {
		return e.Args[0] == "worker" || e.Args[0] == "spec"
	}
	return workerPrograms[name]
}

// ConnectionFile returns the connection file in a kernel's command line (-f, --f, --f=, --connection-file=), or "".
func ConnectionFile(args []string) string {
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

// FrontendOfFile guesses the front end from a connection file's name. VS Code's are kernel-v2-… or kernel-v3….
func FrontendOfFile(file string) string {
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
	{Marimo, Marimo},
	{"spyder", "Spyder"},
}

// FrontendOfParent guesses the front end from the command line of a kernel's parent.
func FrontendOfParent(args []string) string {
	e := Parse(args)
	name := cmp.Or(e.Module, path.Base(e.Script))
	if (name == "jupyter" || strings.HasPrefix(name, "jupyter.")) && len(e.Args) > 0 {
		name = "jupyter-" + e.Args[0]
	}
	for _, parent := range parents {
		if strings.HasPrefix(name, parent.prefix) {
			return parent.frontend
		}
	}
	return ""
}
