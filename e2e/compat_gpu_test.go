package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ipytracer/internal/gpu/gputest"
)

const compatBackend = `
import gpu
from ipytracer.compat.ipyexperiments import IPyExperimentsGPU
from ipytracer.compat.fastai_mem import *
gpu.cu.use(0)
class Backend(IPyExperimentsGPU):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.backend, self.gpu_current_device_id = "mine", 0
        self.backend_init()
        self.start()
`

// compatCache is a library that keeps the memory of tensors until its cache is emptied.
const compatCache = `
import sys, types
cached = []
class Tensor:
    def __init__(self, mib): self.block = gpu.cu.alloc(mib << 20)
    def __del__(self): cached.append(self.block)
def empty_cache():
    while cached: gpu.cu.free(cached.pop())
torch = sys.modules["torch"] = types.SimpleNamespace(cuda=types.SimpleNamespace(
    is_available=lambda: True, is_initialized=lambda: True, current_device=lambda: 0, empty_cache=empty_cache))
`

const compatMachine = `driver 580.159.04
cuda 13000
gpu GPU-a 0:11:0 0 8589934592 0 8589934592 0 -1 Stand-in
gpu GPU-b 0:21:0 1 8589934592 1073741824 7516192768 0 -1 Stand-in
`

// TestCompatGPU: CUDA's first device is the machine's second one, and a bus id says so. Deltas are the driver's bytes,
// totals are NVML's.
func TestCompatGPU(t *testing.T) {
	env, _ := companionAt(t, "/")
	nvml := gputest.Library(t)
	rig := standIn(t, 2, "CUDA_VISIBLE_DEVICES=1,0")
	all := joined(env, rig, gputest.Variables(t, nvml, compatMachine))
	n := startNotebook(t, all)
	tr := attachIn(t, gputest.Environ(t, nvml, compatMachine), n.pid)
	n.run(compatBackend)
	if got := n.run("print(gpu_mem_get(), gpu_with_max_free_mem())"); !strings.Contains(got,
		"GPUMemory(total=8192, free=7168, used=1024) (0, 8192)") {
		t.Error("the device's memory: ", got)
	}
	n.run("exp = Backend(exp_enable=False)")
	got := n.measured("a = b = c = None",
		"a = gpu.cu.alloc(256 << 20); b = gpu.cu.alloc(256 << 20); gpu.cu.free(a); gpu.cu.free(b); "+
			"c = gpu.cu.alloc(64 << 20); gpu.cu.free(c)")
	has(t, got, `･ GPU: +(\d+) +(\d+) +(\d+) MB`, 0, 0, 512, 0)
	n.run(compatCache)
	got = n.captured("g2 = None; torch.cuda.empty_cache()", "g1 = Tensor(256); g2 = Tensor(256); del g1")
	has(t, got, `･ GPU: +(\d+) +(\d+) +(\d+) MB`, 0, 256, 256, 256)
	n.run("g2 = None; torch.cuda.empty_cache(); del sys.modules['torch']")
	n.run("exp.cl.stop()")
	got = n.measured("",
		"with GPUMemTrace(ctx='c') as t:\n    a = gpu.cu.alloc(100 << 20); b = gpu.cu.alloc(30 << 20); "+
			"gpu.cu.free(b)\ngpu.cu.free(a)")
	if !strings.Contains(got, "△Used Peaked MB:    100     30 (c: exit)") {
		t.Error(got)
	}
	n.run("held = []")
	got = n.measured("with Backend(cl_enable=False) as e:\n    held.append(gpu.cu.alloc(1 << 30))",
		"gpu.cu.free(held.pop())\nprint(e.data.gpu)")
	has(t, got, `consumed=(\d+), reclaimed=(\d+), available=(\d+)`, 0, 1<<30, 0, 7168<<20)
	r, _ := tr.stop()
	for _, w := range r.Windows {
		if f := w.Meters["gpu.0.driver"]; f.Peak != 0 {
			t.Fatalf("the machine's first device was used: %+v", f)
		}
	}
}

const compatTorch = `
import json, os, torch
from ipytracer.compat.ipyexperiments import IPyExperimentsPytorch
from ipytracer.compat.pytorch_memlab import Courtesy, LineProfiler, MemReporter
from ipytracer.compat import fastai_mem
MIB = 1 << 20
found = {}
def tries(name, run):
    for _ in range(40):
        got = run()
        if got is not None and None not in got:
            found[name] = got
            return
    found[name] = None
def work():
    a = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    b = torch.empty(32 * MIB, dtype=torch.uint8, device="cuda"); del b
    return a
`

// compatTorchCells are repeated until the tracer's answers come in time. Their results are written at the end.
var compatTorchCells = []string{compatTorch, `
def trace():
    with fastai_mem.GPUMemTrace(on_exit_report=False) as t:
        a = work()
    got = list(t.data())
    del a
    return got
tries("trace", trace)`, `
def lines():
    with LineProfiler(work) as p:
        work()
    rows = p._functions[work.__code__]
    if rows.unmeasured: return None
    return [[rows.lines[n]["active_bytes.all." + f][0] - base for f in ("peak", "current")] for n in sorted(rows.lines)]
base = torch.cuda.memory_allocated()
tries("lines", lines)`, `
def experiment():
    exp = IPyExperimentsPytorch(cl_enable=False)
    get_ipython().user_ns["x1"] = torch.empty(128 * MIB, dtype=torch.uint8, device="cuda")
    return list(exp.finish().gpu[:2]) + ["x1" in get_ipython().user_ns]
tries("experiment", experiment)`, `
linear = torch.nn.Linear(1024, 1024).cuda()
linear.weight.grad = torch.empty_like(linear.weight)
whole = torch.empty(MIB, device="cuda"); part = whole[:10]
before = torch.cuda.memory_allocated()
reporter = MemReporter(linear)
reporter.report()
stats = {s[0]: s[3] for s in reporter.device_tensor_stat[torch.device("cuda:0")]}
found["reporter"] = [stats["weight"], stats["weight.grad"], sum(stats.values()) - torch.cuda.memory_allocated()]
with Courtesy():
    found["away"] = [torch.cuda.memory_allocated() - before + 12 * MIB + 4096,
                     str(linear.weight.device), str(linear.weight.grad.device),
                     whole.data_ptr() == part.data_ptr()]
found["back"] = [torch.cuda.memory_allocated() - before,
                 str(linear.weight.device), str(linear.weight.grad.device), whole.data_ptr() == part.data_ptr(),
                 type(linear.weight).__name__]`,
	"with open(os.environ['TOLD'], 'w') as f: json.dump(found, f)"}

// TestCompatPyTorch: PyTorch's own allocator, on stand-ins for NVIDIA's software.
func TestCompatPyTorch(t *testing.T) {
	together(t)
	p := pytorch(t)
	env, told := companionAt(t, p.chroot)
	libraries := filepath.Join(filepath.Dir(told), "lib")
	if err := os.CopyFS(libraries, os.DirFS(torchLibraries.made(t))); err != nil {
		t.Fatal(err)
	}
	inside := strings.TrimPrefix(libraries, p.chroot)
	env = append(env, "LD_LIBRARY_PATH="+inside, "STANDIN_TRUTH="+filepath.Join(filepath.Dir(inside), "truth"),
		"STANDIN_DEVICES=2", "STANDIN_MEMORY=8589934592")
	s := startCellsOn(t, p, env, "", compatTorchCells...)
	tr := attach(t, s.cmd.Process.Pid, "--budget", "off")
	if _, err := fmt.Fprintln(s.in, "go"); err != nil {
		t.Fatal(err)
	}
	s.says("done!\n")
	tr.stop()
	text, err := os.ReadFile(told)
	if err != nil {
		t.Fatal("the cells have written nothing: ", err)
	}
	var found map[string]any
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	const mib = 1 << 20
	for name, want := range map[string]string{
		"trace":      "[64 32]",
		"lines":      fmt.Sprint([][2]int{{0, 0}, {64 * mib, 64 * mib}, {96 * mib, 64 * mib}, {64 * mib, 64 * mib}}),
		"experiment": fmt.Sprint([]any{128 * mib, 128 * mib, false}),
		"reporter":   fmt.Sprint([]int{4 * mib, 4 * mib, 0}),
		"away":       "[0 cpu cpu true]",
		"back":       "[0 cuda:0 cuda:0 true Parameter]",
	} {
		if got := integers(found[name]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// integers writes numbers from JSON without an exponent.
func integers(value any) string {
	switch v := value.(type) {
	case float64:
		return strconv.FormatInt(int64(v), 10)
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = integers(one)
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprint(value)
}
