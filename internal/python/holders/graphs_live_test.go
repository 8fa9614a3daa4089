package holders

import (
	"os/exec"
	"syscall"
	"testing"

	"ipytracer/internal/code/elffile/elftest"
)

// TestGraphsLive compares what names keep with PyTorch's graphs with what Python shows of these: PyTorch 1.13, and 2.6
// where its libraries can be loaded.
func TestGraphsLive(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Pythons")
	}
	for _, p := range []python{pythons()[0],
		{name: "torch-3.13", tree: "torch", exe: "/usr/bin/python3.13", chroot: true, optional: true}} {
		t.Run(p.name, func(t *testing.T) {
			imports := exec.Command(p.exe, "-c", "import torch")
			if p.chroot {
				elftest.NeedTree(t, p.root())
				imports.SysProcAttr, imports.Dir = &syscall.SysProcAttr{Chroot: p.root()}, "/"
			}
			if imports.Run() != nil {
				t.Skip("no PyTorch")
			}
			checkVariables(t, p.start(t, "graphs.py"))
		})
	}
}
