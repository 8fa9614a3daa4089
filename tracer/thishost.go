package tracer

import (
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/event"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/tracee"
)

// thisHost returns the data of this machine.
func thisHost(version string) event.Host {
	name, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	var info unix.Sysinfo_t
	_ = unix.Sysinfo(&info)
	host := event.Host{
		Name: name, Kernel: ledger.KernelRelease(), CPUs: cpus(), Tracer: version,
		Memory: event.Bytes(info.Totalram) * event.Bytes(info.Unit), WallNow: event.Nanoseconds(time.Now().UnixNano()),
		MonoNow: tracee.Now(), BootID: strings.TrimSpace(string(boot)),
	}
	if size := event.Bytes(os.Getpagesize()); size != event.UsualPage {
		host.PageSize = size
	}
	return host
}

func cpus() int { return runtime.NumCPU() }
