//go:build cgo

package gpu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"ipytracer/internal/gpu/gputest"
)

// A process can load one NVML only, so each test reads in a process of its own: this program once more.
const childVariable = "IPYTRACER_GPU_TEST_CHILD"

// readInChild writes NVML's facts to standard output, and ends the program.
func readInChild() {
	var r result
	others := make(chan error)
	for range 4 {
		go func() {
			_, err := Read(context.Background())
			others <- err
		}()
	}
	s, err := Read(context.Background())
	for range 4 {
		<-others
	}
	if again, second := Read(context.Background()); !reflect.DeepEqual(again, s) || (second == nil) != (err == nil) {
		fmt.Fprintln(os.Stderr, "reading again gives another result:", again, second)
		os.Exit(1)
	}
	r.Snapshot = s
	if err != nil {
		r.Error = err.Error()
		var none *NoNVMLError
		if errors.As(err, &none) {
			r.Reason = none.Reason.String()
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

type result struct {
	Snapshot Snapshot
	Error    string
	Reason   string
}

// look reads NVML's facts in a process with this environment.
func look(t *testing.T, env []string) result {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(env, childVariable+"=1")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	var r result
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

const (
	first = "gpu GPU-8932f937-d72c-4106-c12f-20bd9faed9f6 0:0f:0 0 150754820096 6000000000 144000000000 754820096 0 " +
		"NVIDIA H200\n"
	second = "gpu GPU-11111111-d72c-4106-c12f-20bd9faed9f6 1:a0:0 5 24152899584 1000 24152898584 0 -1 NVIDIA L4\n"
	header = "driver 580.159.04\nnvml 13.580.159.04\ncuda 13000\n"
)

func TestTwoGPUs(t *testing.T) {
	r := look(t, gputest.Environ(t, gputest.Library(t), header+first+`process 100 4000000000 C
process 100 4000000000 G
process 77 - M
process 8 2000000000 C
`+second))
	want := Snapshot{Driver: "580.159.04", NVML: "13.580.159.04", CUDA: "13.0", Devices: []Device{
		{
			Index: 0, Minor: 0, UUID: "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", PCIBusID: "00000000:0F:00.0",
			Name: "NVIDIA H200",
			Memory: Memory{Known: true, Total: 150754820096, Used: 6000000000, Free: 144000000000, Reserved: 754820096,
				ReservedKnown: true},
			MIG: MIGOff,
			Processes: []Process{
				{PID: 8, Used: 2000000000, UsedKnown: true, Kinds: Compute}, {PID: 77, Kinds: MPS},
				{PID: 100, Used: 4000000000, UsedKnown: true, Kinds: Compute | Graphics},
			},
		},
		{
			Index: 1, Minor: 5, UUID: "GPU-11111111-d72c-4106-c12f-20bd9faed9f6", PCIBusID: "00000001:A0:00.0",
			Name:   "NVIDIA L4",
			Memory: Memory{Known: true, Total: 24152899584, Used: 1000, Free: 24152898584, ReservedKnown: true},
		},
	}}
	if r.Error != "" || !reflect.DeepEqual(r.Snapshot, want) {
		t.Errorf("%s\ngot  %+v\nwant %+v", r.Error, r.Snapshot, want)
	}
}

const sliceable = "gpu GPU-8932f937-d72c-4106-c12f-20bd9faed9f6 0:0f:0 0 150754820096 100 150754819996 0 1 " +
	"NVIDIA H200\n" +
	"instance 0 MIG-aaaa 3 0 18000000000 60 17999999940 0 NVIDIA H200 MIG 1g.18gb\n" +
	"instance 4 MIG-bbbb 5 1 36000000000 40 35999999960 0 NVIDIA H200\n" +
	"process 10 60 C 3 0\nprocess 11 40 C 5 1\nprocess 11 40 G 5 1\nprocess 12 - C\n"

func TestMIG(t *testing.T) {
	instances := []Instance{
		{
			Index: 0, UUID: "MIG-aaaa", Name: "MIG 1g.18gb", GPUInstance: 3, ComputeInstance: 0,
			Memory:    Memory{Known: true, Total: 18000000000, Used: 60, Free: 17999999940, ReservedKnown: true},
			Processes: []Process{{PID: 10, Used: 60, UsedKnown: true, Kinds: Compute}},
		},
		{
			Index: 4, UUID: "MIG-bbbb", Name: "MIG 5/1", GPUInstance: 5, ComputeInstance: 1,
			Memory:    Memory{Known: true, Total: 36000000000, Used: 40, Free: 35999999960, ReservedKnown: true},
			Processes: []Process{{PID: 11, Used: 40, UsedKnown: true, Kinds: Compute | Graphics}},
		},
	}
	dir := gputest.Library(t)
	r := look(t, gputest.Environ(t, dir, sliceable))
	d := r.Snapshot.Devices[0]
	if d.MIG != MIGOn || !reflect.DeepEqual(d.Instances, instances) || len(d.Unread) > 0 ||
		!reflect.DeepEqual(d.Processes, []Process{{PID: 12, Kinds: Compute}}) {
		t.Errorf("%+v", d)
	}
	// Without rights the whole device shows nothing; its instances still do.
	r = look(t, gputest.Environ(t, dir, strings.Replace(sliceable, "instance",
		"fail nvmlDeviceGetComputeRunningProcesses 4\n"+
			"fail nvmlDeviceGetGraphicsRunningProcesses 4\nfail nvmlDeviceGetMPSComputeRunningProcesses 4\n"+
			"fail nvmlDeviceGetMemoryInfo 4\ninstance", 1)))
	d = r.Snapshot.Devices[0]
	if !reflect.DeepEqual(d.Instances, instances) || len(d.Processes) > 0 || d.Memory.Known ||
		!reflect.DeepEqual(d.Unread, []string{"memory: no permission"}) {
		t.Errorf("%+v", d)
	}
}

// For a user who may see no process at all, each MIG device has that as its reason.
func TestMIGWithoutRights(t *testing.T) {
	lists := []string{"nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses",
		"nvmlDeviceGetMPSComputeRunningProcesses"}
	text := ""
	for line := range strings.Lines(sliceable) {
		text += line
		if strings.HasPrefix(line, "gpu") || strings.HasPrefix(line, "instance") {
			for _, l := range lists {
				text += "fail " + l + " 4\n"
			}
		}
	}
	d := look(t, gputest.Environ(t, gputest.Library(t), text)).Snapshot.Devices[0]
	if fmt.Sprint(d.Unread) != "[MIG device 0: processes: no permission MIG device 4: processes: no permission]" ||
		len(d.Instances) != 2 {
		t.Errorf("%+v", d)
	}
}

// A driver from before the second versions, and before MIG.
func TestOldLibrary(t *testing.T) {
	dir := gputest.Library(t, "*_v2", "*_v3", "nvmlDeviceGetMPS*", "*Mig*", "nvmlErrorString",
		"nvmlDeviceGetGpuInstanceId")
	r := look(t, gputest.Environ(t, dir, header+first+"process 100 5 C\nprocess 101 - G\n"))
	if r.Error != "" || len(r.Snapshot.Devices) != 1 {
		t.Fatalf("%+v", r)
	}
	d := r.Snapshot.Devices[0]
	processes := []Process{{PID: 100, Used: 5, UsedKnown: true, Kinds: Compute}, {PID: 101, Kinds: Graphics}}
	memory := Memory{Known: true, Total: 150754820096, Used: 6754820096, Free: 144000000000}
	if d.Memory != memory || d.MIG != MIGNotSupported || d.PCIBusID != "00000000:0F:00.0" ||
		!reflect.DeepEqual(d.Processes, processes) || len(d.Unread) > 0 {
		t.Errorf("%+v", d)
	}
	if r.Snapshot.CUDA != "" || r.Snapshot.Driver != "580.159.04" {
		t.Errorf("%+v", r.Snapshot)
	}
}

// A library that has next to nothing must not end the process.
func TestFunctionsMissing(t *testing.T) {
	dir := gputest.Library(t, "nvmlSystem*", "nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetPci*",
		"nvmlDeviceGetMinorNumber",
		"nvmlDeviceGetMemory*", "nvmlDeviceGetMig*", "nvmlDeviceGetMax*", "*RunningProcesses*", "nvmlErrorString")
	r := look(t, gputest.Environ(t, dir, header+first))
	want := Snapshot{Devices: []Device{{Minor: -1, Processes: nil, Unread: []string{
		"name: this NVML cannot tell", "UUID: this NVML cannot tell", "PCI bus id: this NVML cannot tell",
		"minor number: this NVML cannot tell", "memory: this NVML cannot tell", "processes: this NVML cannot tell",
	}}}}
	if r.Error != "" || !reflect.DeepEqual(r.Snapshot, want) {
		t.Errorf("%s\ngot  %+v\nwant %+v", r.Error, r.Snapshot, want)
	}
	for _, needed := range []string{"nvmlInit*", "nvmlShutdown", "nvmlDeviceGetCount*", "nvmlDeviceGetHandleByIndex*"} {
		r := look(t, gputest.Environ(t, gputest.Library(t, needed), header+first))
		if r.Reason != LibraryBroken.String() || !strings.Contains(r.Error, strings.TrimSuffix(needed, "*")) {
			t.Errorf("without %s: %+v", needed, r)
		}
	}
}

func TestFailures(t *testing.T) {
	dir := gputest.Library(t)
	r := look(t, gputest.Environ(t, dir, header+first+"fail nvmlDeviceGetHandleByIndex 15\n"+second+
		"fail nvmlDeviceGetUUID 999\nfail nvmlDeviceGetMigMode 999\nfail nvmlDeviceGetComputeRunningProcesses 3\n"+
		"fail nvmlDeviceGetGraphicsRunningProcesses 3\nfail nvmlDeviceGetMPSComputeRunningProcesses 3\n"))
	if len(r.Snapshot.Devices) != 2 {
		t.Fatalf("%+v", r)
	}
	lost, odd := r.Snapshot.Devices[0], r.Snapshot.Devices[1]
	if fmt.Sprint(lost.Unread) != "[the device: the GPU is lost: it fell off the bus or does not answer]" {
		t.Errorf("%+v", lost)
	}
	if fmt.Sprint(odd.Unread) != "[UUID: an unknown error MIG mode: an unknown error processes: not supported]" ||
		odd.MIG != MIGUnknown || odd.Name != "NVIDIA L4" {
		t.Errorf("%+v", odd)
	}
	r = look(t, gputest.Environ(t, dir, header+first+"fail nvmlDeviceGetMemoryInfo 3\n"))
	if d := r.Snapshot.Devices; len(d) != 1 || d[0].Memory != (Memory{Shared: true}) ||
		fmt.Sprint(d[0].Unread) != "[memory: not supported: the GPU shares the machine's memory, as GB10 does]" {
		t.Errorf("%+v", r)
	}
	for code, reason := range map[int]Reason{9: DriverNotLoaded, 4: NoPermission, 18: VersionMismatch, 999: Failed} {
		r := look(t, gputest.Environ(t, dir, fmt.Sprintf("fail nvmlInit %d\n", code)))
		if r.Reason != reason.String() || r.Error == "" {
			t.Errorf("nvmlInit %d: %+v", code, r)
		}
	}
	if r := look(t, gputest.Environ(t, dir,
		"fail nvmlDeviceGetCount 999\n")); r.Error != "count the GPUs: an unknown error" {
		t.Errorf("%+v", r)
	}
}

func TestNoLibrary(t *testing.T) {
	if FindLibrary(Library) == "" {
		if r := look(t, os.Environ()); r.Reason != LibraryAbsent.String() || !strings.Contains(r.Error, Library) {
			t.Errorf("%+v", r)
		}
	}
	dir := t.TempDir()
	gputest.Write(t, filepath.Join(dir, Library), "not a library")
	if r := look(t, append(os.Environ(), "LD_LIBRARY_PATH="+dir)); FindLibrary(Library) == "" &&
		r.Reason != LibraryBroken.String() {
		t.Errorf("%+v", r)
	}
}

func TestReadGivesUp(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Nanosecond, errMissing)
	defer cancel()
	<-ctx.Done()
	if _, err := Read(ctx); err == nil {
		t.Error("no error")
	}
}

func TestUsedBy(t *testing.T) {
	s := Snapshot{Devices: []Device{
		{Processes: []Process{{PID: 1, Used: 5, UsedKnown: true}, {PID: 2}}},
		{Instances: []Instance{{Processes: []Process{{PID: 1, Used: 7, UsedKnown: true}}}}},
	}}
	for pid, want := range map[int]string{1: "12 true", 2: "0 false", 3: "0 true"} {
		if bytes, ok := s.UsedBy(pid); fmt.Sprint(bytes, ok) != want {
			t.Errorf("%d: %d %v, want %s", pid, bytes, ok, want)
		}
	}
}
