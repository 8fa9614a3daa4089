package words

import (
	"slices"
	"testing"

	"ipytracer/model"
)

func TestNativeFramesOfAStack(t *testing.T) {
	native := func(module, function string) model.Frame {
		return model.Frame{Function: function, Module: module, Native: true}
	}
	count := 3
	python := model.Frame{Function: "<module>", File: "/tmp/1.py", Line: 2, Execution: 4, ExecutionCount: &count}
	for _, c := range []struct {
		want  string
		stack []model.Frame
	}{
		{
			"In[3] line 2 › _umath: array_empty … PyDataMem_UserNEW",
			[]model.Frame{
				native("_umath.so", "PyDataMem_UserNEW"), native("_umath.cpython-311-x86_64-linux-gnu.so", "x"),
				native("_umath.so", "array_empty"), python,
			},
		},
		{
			"In[3] line 2 › libtorch: at::empty … libcuda: cuMemAlloc_v2",
			[]model.Frame{native("libcuda.so.1", "cuMemAlloc_v2"), native("libtorch.so", "at::empty"), python},
		},
		{"In[3] line 2 › libx+0x12", []model.Frame{native("libx.so", "libx.so+0x12"), python}},
		{
			"In[3] line 2 › libx+0x12 … +0x13",
			[]model.Frame{native("libx.so", "libx.so+0x13"), native("libx.so", "libx.so+0x12"), python},
		},
		{
			"In[3] line 2 › libx: f",
			[]model.Frame{
				native("libx.so", "libx.so+0x13"), native("libx.so", "f"), native("libx.so", "libx.so+0x12"), python,
			},
		},
		{
			"In[3] line 2 › libtorch_cpu: at::_ops::empty … at::empty",
			[]model.Frame{
				native("libc10.so.2.6.0", "c10::reportMemoryUsageToProfiler"),
				native("libc10_cuda.so", "libc10_cuda.so+0x1"),
				native("libtorch_cpu.so.2", "at::empty"), native("libtorch_cpu.so.2", "at::_ops::empty"),
				native("libtorch_python.so", "libtorch_python.so+0x2"), python,
			},
		},
		{"In[3] line 2 › ? … libx: f", []model.Frame{native("libx.so", "f"), {Function: "?", Native: true}, python}},
		{
			"(native) liby: run … libx: take",
			[]model.Frame{
				native("libx.so", "take"), native("liby.so", "run"), native("libstdc++.so.6", "execute"),
				native("libc.so.6", "start_thread"), native("libc.so.6", "clone3"),
			},
		},
		{"(native) libc: clone3", []model.Frame{native("libc.so.6", "clone3")}},
		{"(no Python code, or not known)", nil},
	} {
		if got := Stack(c.stack); got != c.want {
			t.Errorf("%v: %q, want %q", c.stack, got, c.want)
		}
	}
}

// TestFoundLaterStandsInPlaceOfCalls: the text about memory from a search stands in the place of its calls, and is no
// file of the user's.
func TestFoundLaterStandsInPlaceOfCalls(t *testing.T) {
	const found = "(found later: made between In[3] and In[7], while cpu.numpy was stepped down)"
	stack := []model.Frame{{Function: found}}
	if got := Stack(stack); got != found {
		t.Errorf("%q, want %q", got, found)
	}
	if _, users := model.Users(stack); users {
		t.Error("it is taken for the user's own code")
	}
}

// TestKernelsCallsAreLeftOut: without a call of the user's, a stack begins where the kernel's own calls end.
func TestKernelsCallsAreLeftOut(t *testing.T) {
	installed := func(function, file string) model.Frame {
		return model.Frame{Function: function, File: "/usr/lib/python3/dist-packages/" + file, Line: 1}
	}
	kernel := []model.Frame{
		installed("InteractiveShell.run_cell", "IPython/core/interactiveshell.py"),
		installed("Kernel.execute_request", "ipykernel/kernelbase.py"),
		{Function: "BaseEventLoop.run_forever", File: "/usr/lib/python3.11/asyncio/base_events.py", Line: 607},
		installed("Application.launch_instance", "traitlets/config/application.py"),
		{Function: "_run_module_as_main", File: "<frozen runpy>", Line: 198},
	}
	figure := []model.Frame{
		installed("RendererAgg.__init__", "matplotlib/backends/backend_agg.py"),
		installed("print_figure", "IPython/core/pylabtools.py"),
		installed("flush_figures", "matplotlib_inline/backend_inline.py"),
	}
	trigger := installed("EventManager.trigger", "IPython/core/events.py")
	for want, stack := range map[string][]model.Frame{
		"display and hooks › flush_figures … 2 calls in IPython, matplotlib": slices.Concat(figure,
			[]model.Frame{trigger}, kernel),
		"flush_figures … 2 calls in IPython, matplotlib": slices.Concat(figure, kernel),
		"InteractiveShell.run_cell":                      kernel,
		"In[3] line 2 › EventManager.trigger … 5 calls in traitlets, runpy": slices.Concat(kernel[:0:0],
			[]model.Frame{{Function: "_run_module_as_main", File: "/usr/lib/python3.9/runpy.py"}}, kernel[:4],
			[]model.Frame{trigger}, []model.Frame{{Function: "<module>", File: "/tmp/1.py", Line: 2, Execution: 3,
				ExecutionCount: new(3)}}),
	} {
		if got := Stack(stack); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
