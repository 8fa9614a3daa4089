package commandline

import (
	"strings"
	"testing"
)

func TestGuessOfAnInterpreter(t *testing.T) {
	tests := []struct {
		args     string // separated by spaces
		kind     Kind
		frontend string
		file     string
	}{
		{"/usr/bin/python3 -m ipykernel_launcher -f /run/kernel-1.json", Kernel, "", "/run/kernel-1.json"},
		{"python -Xfrozen_modules=off -m ipykernel_launcher -f /run/kernel-1.json", Kernel, "", "/run/kernel-1.json"},
		{"python -X frozen_modules=off -u -mipykernel_launcher --f=/r/kernel-v2-1.json", Kernel, "VS Code",
			"/r/kernel-v2-1.json"},
		{"python -Im ipykernel --IPKernelApp.connection_file=/r/k.json", Kernel, "", "/r/k.json"},
		{"python3 -m colab_kernel_launcher -f /r/kernel-2.json", Kernel, "Colab", "/r/kernel-2.json"},
		{"python -m spyder_kernels.console --matplotlib=inline -f=/tmp/k.json", Kernel, "Spyder", "/tmp/k.json"},
		{"python /databricks/python_shell/scripts/db_ipykernel_launcher.py -f /k.json", Kernel, "Databricks",
			"/k.json"},
		{"python /venv/lib/python3.12/site-packages/ipykernel_launcher.py -f /k.json", Kernel, "", "/k.json"},
		{"python3 /usr/bin/ipython kernel -f /k.json", Kernel, "", "/k.json"},
		{"/usr/bin/python3 /usr/bin/ipython3", Terminal, "terminal", ""},
		{"/venv/bin/python -m marimo._ipc.launch_kernel", Kernel, "marimo", ""},
		{"python /venv/bin/marimo edit book.py", Script, "", ""},
		{"python -W ignore -m IPython --no-banner", Terminal, "terminal", ""},
		{"python train.py ipykernel_launcher -m ipykernel -f x", Script, "", ""},
		{"python -c import_ipykernel -m ipykernel", Script, "", ""},
		{"python", Script, "", ""},
		{"python -m", Script, "", ""},
		{"", Script, "", ""},
		{"python -X", Script, "", ""},
	}
	for _, tt := range tests {
		e := Parse(strings.Split(tt.args, " "))
		kind, frontend := e.Kind()
		var file string
		if kind == Kernel {
			file = ConnectionFile(e.Args)
			if frontend == "" {
				frontend = FrontendOfFile(file)
			}
		}
		if kind != tt.kind || frontend != tt.frontend || file != tt.file {
			t.Errorf("%q is %v %q %q, want %v %q %q", tt.args, kind, frontend, file, tt.kind, tt.frontend, tt.file)
		}
	}
	rewritten := []string{"python -m ipykernel_launcher -f /k.json"}
	if kind, _ := Parse(rewritten).Kind(); kind != Kernel {
		t.Error("a rewritten command line is not understood")
	}
	if kind, _ := Parse(nil).Kind(); kind != Script {
		t.Error("no command line is a kernel")
	}
}

func TestIsWorker(t *testing.T) {
	for args, want := range map[string]bool{
		"/usr/bin/python3 /usr/bin/dask-worker tcp://10.0.0.1:8786 --nthreads 2": true,
		"/usr/bin/python3 /usr/bin/dask worker tcp://10.0.0.1:8786":              true,
		"/opt/bin/python -m distributed.cli.dask_worker tcp://10.0.0.1:8786":     true,
		"python3 -m dask spec tcp://10.0.0.1:8786":                               true,
		"python3 -X dev -m dask worker tcp://10.0.0.1:8786":                      true,
		"python3 /usr/bin/dask scheduler":                                        false,
		"python3 /usr/bin/dask-scheduler":                                        false,
		"python3 train.py dask-worker":                                           false,
		"python3 -c pass /usr/bin/dask-worker":                                   false,
		"python3 -m dask":                                                        false,
		"python3":                                                                false,
	} {
		if got := IsWorker(strings.Fields(args)); got != want {
			t.Errorf("%s: %v", args, got)
		}
	}
	for title, want := range map[string]bool{
		"dask worker [tcp://10.0.0.1:36007]": true, "dask scheduler [tcp://10.0.0.1:8786]": false, "": false,
	} {
		if got := IsWorker([]string{title}); got != want {
			t.Errorf("%q: %v", title, got)
		}
	}
	if IsWorker(nil) {
		t.Error("no command line is a worker")
	}
}

func TestFrontendOfParent(t *testing.T) {
	tests := map[string]string{
		"/usr/bin/python3 /usr/local/bin/jupyter-lab --no-browser":   "JupyterLab",
		"python3 /usr/bin/jupyter lab":                               "JupyterLab",
		"python3 -m jupyter notebook":                                "Jupyter Notebook",
		"python3 -m jupyterlab":                                      "JupyterLab",
		"/opt/conda/bin/python /opt/conda/bin/jupyterhub-singleuser": "JupyterHub",
		"python /usr/bin/papermill in.ipynb out.ipynb":               "papermill",
		"python serve.py jupyter-lab":                                "",
		"/venv/bin/python /venv/bin/marimo edit book.py":             "marimo",
		"python -m marimo edit book.py":                              "marimo",
		"bash":                                                       "",
	}
	for args, want := range tests {
		if got := FrontendOfParent(strings.Split(args, " ")); got != want {
			t.Errorf("%q is %q, want %q", args, got, want)
		}
	}
}
