package process

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// stored is the proc file system of testdata/proc; its README lists the contents.
var stored = FS{Root: "../../../testdata/proc", Sys: "../../../testdata/proc/sysfs"}

func TestStoredStat(t *testing.T) {
	tests := []struct {
		pid  int
		want Stat
		err  error
	}{
		{pid: 100, want: Stat{PID: 100, Comm: "evil) S 1 (x", State: 'S', ParentPID: 1, Flags: 0x400000, Threads: 9,
			StartTicks: 5000, ResidentPages: 12800}},
		{pid: 101, want: Stat{PID: 101, Comm: "new\nline) (2", State: 'S', ParentPID: 100, Flags: 0x400000, Threads: 1,
			StartTicks: 5001, ResidentPages: 12800}},
		{pid: 103, err: ErrNoProcess},
		{pid: 105, err: ErrMalformed},
		{pid: 999, err: ErrNoProcess},
		{pid: 0, err: ErrNoProcess},
		{pid: -1, err: ErrNoProcess},
	}
	for _, tt := range tests {
		got, err := stored.Proc(tt.pid).Stat()
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("Stat(%d) = %+v, %v; want %+v, %v", tt.pid, got, err, tt.want, tt.err)
		}
	}
	if kthread, _ := stored.Proc(2).Stat(); !kthread.KernelThread() {
		t.Error("kthreadd is a kernel thread")
	}
	if zombie, _ := stored.Proc(102).Stat(); !zombie.Ended() {
		t.Error("a zombie has ended")
	}
}

func TestStoredStatus(t *testing.T) {
	got, err := stored.Proc(100).Status()
	want := Status{
		PID: 100, TGID: 100, UID: 1000, EUID: 1001, GID: 1000, EGID: 1002, Threads: 9,
		Sleeps: true, Switches: 42,
		NSPIDs: []int{100, 31, 1}, latent: latentRights{1000, 1000, 824634245120},
		CapsHeld: 1<<39 | 1<<38 | 1<<19 | 1<<2, Ignored: 0x1001002, Caught: 0x108000000,
		AddressSpaceBytes: 299000 << 10, DataBytes: 80 << 20, ResidentBytes: 50 << 20,
		ResidentAnonBytes: 40 << 20, ResidentFileBytes: 10000 << 10, ResidentShmemBytes: 240 << 10,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Status(100) = %+v, %v; want %+v", got, err, want)
	}
	later := got
	if !got.StoodStill(&later) {
		t.Error("a thread that slept ran")
	}
	if later.Switches++; got.StoodStill(&later) {
		t.Error("a thread that gave up a CPU did not run")
	}
	if got.StoodStill(&Status{Switches: got.Switches}) {
		t.Error("a thread that runs stands still")
	}
	if forged, err := stored.Proc(106).Status(); err != nil || forged.UID != 1000 {
		t.Errorf("Status(106).UID = %d, %v: the name forged it", forged.UID, err)
	}
	if _, err := stored.Proc(105).Status(); !errors.Is(err, ErrMalformed) {
		t.Errorf("Status(105): %v, want %v", err, ErrMalformed)
	}
}

func TestStoredMaps(t *testing.T) {
	got, err := stored.Image(100).Maps()
	if err != nil || len(got) != 10 {
		t.Fatalf("Maps(100): %d mappings, %v; want 10", len(got), err)
	}
	want := map[int]Mapping{
		1: {Start: 0x401000, End: 0x700000, Offset: 0x1000, Perm: Read | Exec, File: FileID{0xfe, 1, 131},
			Path: "/opt/e vil) (x/python3.12"},
		2: {Start: 0xc0a000, End: 0xc0b000, Perm: Read | Write, Path: "[heap]"},
		3: {Start: 0x7f0000000000, End: 0x7f0000001000, Perm: Read | Exec, File: FileID{0xfe, 1, 1 << 40},
			Path: `/tmp/new\012line.so`, Deleted: true},
		4: {Start: 0x7f0000001000, End: 0x7f0000002000, Perm: Read | Shared, File: FileID{0, 0x2f, 7},
			Path: "/srv/a (deleted)", Deleted: true},
		5: {Start: 0x7f0000002000, End: 0x7f0000003000, Perm: Read | Write},
		6: {Start: 0x7f0000003000, End: 0x7f0000004000, Perm: Read | Write, Path: "[anon:x (deleted)]"},
		7: {Start: 0x7f0000004000, End: 0x7f0000005000, Perm: Read | Write | Exec | Shared, File: FileID{0, 1, 9},
			Path: "/memfd:\xff\x1b[31m\r", Deleted: true},
		8: {Start: 0x7f0000005000, End: 0x7f0000006000, Offset: 0x7fffffff000, Perm: Read | Exec,
			File: FileID{0x103, 5, 8}, Path: "/mnt/return\r"},
		9: {Start: 0xffffffffff600000, End: 0xffffffffff601000, Perm: Exec, Path: "[vsyscall]"},
	}
	for i, m := range want {
		if got[i] != m {
			t.Errorf("mapping %d is\n%+v, want\n%+v", i, got[i], m)
		}
	}
	if text := got[7].Perm.String() + got[9].Perm.String(); text != "rwxs--xp" {
		t.Errorf("permissions read %q", text)
	}
	if _, err := stored.Image(105).Maps(); !errors.Is(err, ErrMalformed) {
		t.Errorf("Maps(105): %v, want %v", err, ErrMalformed)
	}
	if _, err := stored.Image(103).Maps(); !errors.Is(err, ErrNoProcess) {
		t.Errorf("Maps(103): %v, want %v", err, ErrNoProcess)
	}
}

func TestMapsAreBounded(t *testing.T) {
	line := []byte("00400000-00401000 r-xp 00000000 fe:01 131 /x\n")
	inputs := map[string][]byte{
		"too many lines":  bytes.Repeat(line, maxMapLines+1),
		"a line too long": append(append([]byte{}, line[:len(line)-1]...), bytes.Repeat([]byte("x"), maxMapLine)...),
		"too many bytes": bytes.Repeat(append(append([]byte{}, line[:len(line)-1]...),
			append(bytes.Repeat([]byte("x"), 1<<10), '\n')...), maxMapBytes>>10),
	}
	for name, input := range inputs {
		var last error
		for _, err := range parseMaps(bytes.NewReader(input)) {
			last = err
		}
		if !errors.Is(last, ErrTooLarge) {
			t.Errorf("%s: %v, want %v", name, last, ErrTooLarge)
		}
	}
}

func TestStoredIdentity(t *testing.T) {
	if id, err := stored.Identity(100); err != nil || id != (Identity{100, 5000}) {
		t.Errorf("Identity(100) = %v, %v", id, err)
	}
	tests := []struct {
		pid  int
		kind error
		text string
	}{
		{102, ErrZombie, "process 102 has ended and waits for its parent (zombie)"},
		{103, ErrNoProcess, "no process 103"},
		{110, ErrNoProcess, "110 is a thread of process 100"},
	}
	for _, tt := range tests {
		if _, err := stored.Identity(tt.pid); !errors.Is(err, tt.kind) || err.Error() != tt.text {
			t.Errorf("Identity(%d): %v; want %q", tt.pid, err, tt.text)
		}
	}
	if err := stored.Same(Identity{100, 5000}); err != nil {
		t.Errorf("Same: %v", err)
	}
	if err := stored.Same(Identity{100, 4999}); !errors.Is(err, ErrNoProcess) {
		t.Errorf("Same with another start: %v, want %v", err, ErrNoProcess)
	}
}

func TestStoredTree(t *testing.T) {
	children, err := stored.Children(101)
	if want := []Identity{{102, 5002}, {104, 5003}, {106, 5004}}; err != nil || !reflect.DeepEqual(children, want) {
		t.Errorf("Children(101) = %v, %v; want %v", children, err, want)
	}
	all, err := stored.Descendants(100)
	if want := []Identity{{101, 5001}, {102, 5002}, {104, 5003}, {106, 5004}}; err != nil ||
		!reflect.DeepEqual(all, want) {
		t.Errorf("Descendants(100) = %v, %v; want %v", all, err, want)
	}
	if none, err := stored.Children(999); none != nil || err != nil {
		t.Errorf("Children(999) = %v, %v", none, err)
	}
	// Read at different instants, parents can seem to form a circle.
	circle := []Stat{{PID: 5, ParentPID: 6}, {PID: 6, ParentPID: 5}, {PID: 7, ParentPID: 7}}
	if got := offspring(circle, 5, true); !reflect.DeepEqual(got, []Identity{{PID: 6}}) {
		t.Errorf("in a circle: %v", got)
	}
}

func TestStoredCmdline(t *testing.T) {
	got, err := stored.Proc(101).Cmdline()
	if err != nil || !reflect.DeepEqual(got, Command{Args: []string{"setproctitle was here"}}) {
		t.Errorf("Cmdline(101) = %q, %v", got.Args, err)
	}
	if got, err := stored.Proc(2).Cmdline(); err != nil || got.Args != nil {
		t.Errorf("Cmdline(2) = %q, %v", got.Args, err)
	}
	got, err = stored.Proc(104).Cmdline()
	if err != nil || !got.Truncated || len(strings.Join(got.Args, "\x00")) != maxCmdline ||
		got.Args[0] != "/usr/bin/python3" {
		t.Errorf("Cmdline(104): %d arguments, truncated %v, %v", len(got.Args), got.Truncated, err)
	}
}

func TestStoredFacts(t *testing.T) {
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(stored.Root)); err != nil {
		t.Fatal(err)
	}
	for _, ns := range []string{"pid:[4026531836]", "user:[4026532999]"} {
		kind, _, _ := strings.Cut(ns, ":")
		symlink(t, ns, filepath.Join(root, "self/ns", kind))
	}
	got := FS{Root: root, Sys: stored.Sys}.Facts()
	want := Facts{
		Kernel: "6.8.0-45-generic", EUID: os.Geteuid(), Capabilities: 1<<39 | 1<<38 | 1<<19 | 1<<2,
		BTF: true, InitialPIDNamespace: true, Lockdown: "integrity",
		PerfEventParanoid: Setting{4, true}, UnprivilegedBPFDisabled: Setting{2, true},
	}
	if got != want {
		t.Errorf("Facts() = %+v, want %+v", got, want)
	}
	if !got.Capabilities.MayLoadBPF() || got.Capabilities.Has(CapSysAdmin) {
		t.Errorf("capabilities %v", got.Capabilities)
	}
	if text := got.Capabilities.String(); text != "CAP_DAC_READ_SEARCH,CAP_SYS_PTRACE,CAP_PERFMON,CAP_BPF" {
		t.Errorf("capabilities read %q", text)
	}
	if none := (FS{Root: t.TempDir(), Sys: t.TempDir()}).Facts(); none != (Facts{EUID: os.Geteuid(),
		Lockdown: "absent"}) {
		t.Errorf("Facts of nothing: %+v", none)
	}
}

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}
