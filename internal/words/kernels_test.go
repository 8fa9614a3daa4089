package words_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ipytracer/internal/words"
)

func TestKernelNames(t *testing.T) {
	for _, c := range []struct {
		notebooks, want []string
	}{
		{nil, nil},
		{[]string{"/home/a/x.ipynb"}, nil},
		{[]string{"/home/a/x.ipynb", "/home/a/y.ipynb"}, []string{"x.ipynb", "y.ipynb"}},
		{[]string{"/home/a/x.ipynb", "/home/b/x.ipynb", ""}, []string{"a/x.ipynb", "b/x.ipynb", "pid 3"}},
		{[]string{"x.ipynb", "/home/b/x.ipynb"}, []string{"x.ipynb", "b/x.ipynb"}},
		{[]string{"/a/c/x.ipynb", "/b/c/x.ipynb", "/b/d/x.ipynb"}, []string{"a/c/x.ipynb", "b/c/x.ipynb", "d/x.ipynb"}},
		{[]string{"/a/x.ipynb", "/a/./x.ipynb", "/b/y.ipynb"}, []string{"x.ipynb pid 1", "x.ipynb pid 2", "y.ipynb"}},
		{[]string{"", ""}, []string{"pid 1", "pid 2"}},
		{[]string{"/..", "pid 1"}, []string{"pid 1", "_pid 1"}},
		{[]string{"/a/\x1b[31m<b>|`*`=1.ipynb", "größer 1.ipynb"}, []string{"__31m_b______1.ipynb", "größer 1.ipynb"}},
		{
			[]string{strings.Repeat("a", 40) + ".ipynb", strings.Repeat("b", 40) + "a.ipynb"},
			[]string{"…" + strings.Repeat("a", 25) + ".ipynb", "…" + strings.Repeat("b", 24) + "a.ipynb"},
		},
		{
			[]string{"b" + strings.Repeat("a", 40), "c" + strings.Repeat("a", 40)},
			[]string{"…" + strings.Repeat("a", 31) + " pid 1", "…" + strings.Repeat("a", 31) + " pid 2"},
		},
	} {
		var kernels []words.Kernel
		for i, n := range c.notebooks {
			kernels = append(kernels, words.Kernel{PID: i + 1, Notebook: n})
		}
		if got := words.KernelNames(kernels); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.notebooks, got, c.want)
		}
	}
}

// TestKernelNamesDiffer: whatever kernels claim, no two have the same name.
func TestKernelNamesDiffer(t *testing.T) {
	var kernels []words.Kernel
	for i := range 2000 {
		kernels = append(kernels, words.Kernel{PID: i + 1, Notebook: []string{
			"", "/", "x", "a/x", "/b/x", fmt.Sprintf("x pid %d", i-2), "x\x00", "x\x01", fmt.Sprintf("pid %d", i+2),
			strings.Repeat("/long", 40) + "/x",
		}[i%10]})
	}
	seen := map[string]int{}
	for i, name := range words.KernelNames(kernels) {
		if seen[name]++; seen[name] > 1 || name == "" {
			t.Errorf("%d kernels are called %q, one of them %q", seen[name], name, kernels[i].Notebook)
		}
	}
}
