package words

import (
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
