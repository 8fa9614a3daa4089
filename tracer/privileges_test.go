package tracer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/tracer/process"
)

const dropVariable = "IPYTRACER_TEST_DROP"

// TestDropPrivileges needs root; what is dropped is gone for good, so a process of its own drops it.
func TestDropPrivileges(t *testing.T) {
	if os.Getenv(dropVariable) != "" {
		drop(t)
		return
	}
	held := process.FS{}.Facts().Capabilities
	if !held.Has(unix.CAP_NET_ADMIN) && !held.Has(unix.CAP_SYS_CHROOT) {
		if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
			t.Fatal("nothing to drop: not root")
		}
		t.Skip("nothing to drop: not root")
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestDropPrivileges$", "-test.v")
	cmd.Env = append(os.Environ(), dropVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// drop checks every thread: those in system calls, those that are idle, and one that is started afterwards.
func drop(t *testing.T) {
	stop := make(chan struct{})
	started := make(chan struct{})
	for range 8 {
		go func() {
			runtime.LockOSThread()
			started <- struct{}{}
			<-stop
		}()
		<-started
	}
	if err := DropPrivileges(); err != nil {
		t.Fatal(err)
	}
	go func() {
		runtime.LockOSThread()
		started <- struct{}{}
		<-stop
	}()
	<-started
	threads, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(threads) < 9 {
		t.Fatalf("%v: %d threads", err, len(threads))
	}
	var keep uint64
	for _, c := range needed {
		keep |= 1 << c
	}
	for _, path := range threads {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // ended
		}
		var permitted, effective, alone uint64
		for line := range strings.Lines(string(data)) {
			fmt.Sscanf(line, "CapPrm:\t%x", &permitted)
			fmt.Sscanf(line, "CapEff:\t%x", &effective)
			fmt.Sscanf(line, "NoNewPrivs:\t%d", &alone)
		}
		if permitted&^keep != 0 || effective&^keep != 0 || alone != 1 {
			t.Errorf("%s: permitted %x, effective %x, NoNewPrivs %d", path, permitted, effective, alone)
		}
	}
	close(stop)
}
