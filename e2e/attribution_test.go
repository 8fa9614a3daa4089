package e2e

import (
	"strings"
	"syscall"
	"testing"

	"ipytracer/model"
)

// trainCell is a training loop of PyTorch with as many paths through its C++ as fit into a few seconds: each operation,
// and each backward step, has its own stacks, hundreds of them within milliseconds.
const trainCell = `
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(16, 32, 3), nn.GELU(), nn.Flatten(),
                    nn.Linear(32 * 13 * 13, 64), nn.LayerNorm(64), nn.Dropout(), nn.Linear(64, 10))
optimizer = torch.optim.AdamW(net.parameters())
x, y = torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))
for step in range(3):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
layer = nn.TransformerEncoderLayer(64, 4, batch_first=True)
layer(torch.randn(8, 16, 64, requires_grad=True)).sum().backward()
nn.LSTM(32, 32, 2)(torch.randn(10, 4, 32))[0].sum().backward()
for f in (torch.sin, torch.cos, torch.exp, torch.tanh, torch.sigmoid,
          torch.fft.fft, torch.linalg.svd, torch.matrix_exp, torch.inverse, torch.var):
    made = f(torch.randn(64, 64, requires_grad=True))
    made = made[0] if isinstance(made, tuple) else made
    (made.abs() if made.is_complex() else made).sum().backward()
`

// TestPyTorchIsComplete: for a training loop of PyTorch, every figure, window and frame is known. Its libraries are the
// largest of all: while the tables and symbols of one are read, hundreds of new stacks arrive.
func TestPyTorchIsComplete(t *testing.T) {
	require(t)
	needModules(t, "torch")
	pid, run := startCellIn(t, "", "/usr/bin/python3", trainCell)
	tr := attach(t, pid, "--budget", "off", "--native")
	if err := run(); err != nil {
		t.Fatal(err)
	}
	until(t, "the target ends", func() bool { return syscall.Kill(pid, 0) != nil || ended(pid) })
	r, _ := tr.stop()
	checkCertificate(t, r)
	checkSums(t, r)
	checkComplete(t, r)
	whole := 0
	for _, a := range r.Windows[0].Allocations {
		if native := nativeFrames(a.Stack); a.Meter == "cpu.torch" && len(native) > 5 && !unknownCalls(native) &&
			strings.HasPrefix(native[0].Function, "c10::") {
			whole++
		}
	}
	if whole < 50 {
		t.Errorf("only %d stacks of tensors are whole", whole)
	}
}

// checkComplete checks that figures, windows and the stacks of allocations are complete.
func checkComplete(t *testing.T, r *model.Report) {
	t.Helper()
	if c := &r.Certificate; !c.Complete || !c.Attribution.Complete {
		t.Errorf("complete %v: %q; who allocated is complete %v: %q", c.Complete, c.Incomplete, c.Attribution.Complete,
			c.Attribution.Incomplete)
	}
}
