package process

import (
	"path"
	"strings"
)

// Kind is a guess at the use of a Python process.
type Kind uint8

// The kinds of Python process.
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

// NamedLikePython reports whether anybody can see that a process has a name of Python's.
func (fs FS) NamedLikePython(st Stat) bool {
	if namedLikePython(st.Comm) || strings.HasPrefix(st.Comm, "ipython") {
		return true
	}
	command, err := fs.Proc(st.PID).Cmdline()
	return err == nil && len(command.Args) > 0 && namedLikePython(path.Base(command.Args[0]))
}

// entry is the program of a Python command line.
type entry struct {
	module string   // after -m
	script string   // or the first argument that is no option
	args   []string // the arguments of the program
}

// parseEntry reads a command line as CPython's own main does (python --help; Python/initconfig.c): options in clusters,
// -m, -c, -W and -X with a value attached or apart. A name that merely is among the program's own arguments is not the
// entry.
func parseEntry(args []string) entry {
	if len(args) == 1 && strings.Contains(args[0], " ") {
		args = strings.Fields(args[0]) // rewritten by the process itself
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

// kernelModules are the programs that start a kernel, by module or script name, with the front end if only that
// one uses it.
var kernelModules = map[string]string{
	"ipykernel":              "",
	"ipykernel_launcher":     "",
	"ipykernel.kernelapp":    "",
	"colab_kernel_launcher":  "Colab",
	"db_ipykernel_launcher":  "Databricks",
	"spyder_kernels":         "Spyder",
	"spyder_kernels.console": "Spyder",
}

// kind guesses the kind of the entry, and the front end where the entry alone shows it.
func (e entry) kind() (kind Kind, frontend string) {
	name := e.module
	if name == "" {
		name = strings.TrimSuffix(path.Base(e.script), ".py")
	}
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

// workerPrograms are the programs that run workers of Dask, or start them, by module or script name.
var workerPrograms = map[string]bool{
	"dask-worker": true, "distributed.cli.dask_worker": true, "dask_worker": true,
	"dask-spec": true, "distributed.cli.dask_spec": true, "dask_spec": true,
}

// isWorker reports whether the arguments of a Python are those of a worker of Dask, or of a program that starts such:
// `dask worker`, `dask-worker`, `python -m distributed.cli.dask_worker`. Where the package setproctitle is there, a
// worker's only argument is "dask worker [ADDRESS]".
func isWorker(args []string) bool {
	if len(args) == 1 {
		return strings.HasPrefix(args[0], "dask worker [")
	}
	e := parseEntry(args)
	name := e.module
	if name == "" {
		name = strings.TrimSuffix(path.Base(e.script), ".py")
	}
	if name == "dask" && len(e.args) > 0 {
		return e.args[0] == "worker" || e.args[0] == "spec"
	}
	return workerPrograms[name]
}

// connectionFile returns the file that a kernel puts its sockets in by its command line (-f, --f, --f=,
// --connection-file=).
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

// frontendOfFile recognizes VS Code, which names its kernels' files kernel-v2-… or kernel-v3….
func frontendOfFile(file string) string {
	if strings.HasPrefix(path.Base(file), "kernel-v2-") || strings.HasPrefix(path.Base(file), "kernel-v3") {
		return "VS Code"
	}
	return ""
}

// parents are the programs that start kernels, by the name of module or script, in order of preference.
var parents = []struct{ prefix, frontend string }{
	{"jupyterhub-singleuser", "JupyterHub"},
	{"jupyterhub.singleuser", "JupyterHub"},
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
	name := e.module
	if name == "" {
		name = path.Base(e.script)
	}
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
