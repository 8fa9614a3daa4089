package ledger

import (
	"os"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// multiUprobeWorks tries a multi-uprobe link on this program: it must see the calls of every thread of its process.
// Where the kernel has no such links (upstream: before 6.6), or links that mistake a process for its first thread
// (before 6.10; the fix was backported), each site gets a perf event.
func multiUprobeWorks() bool {
	offset, err := ownOffset(emulatedAddress)
	if err != nil {
		return false
	}
	hits, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		return false
	}
	defer hits.Close()
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti, License: "Dual BSD/GPL",
		Instructions: countHit(hits),
	})
	if err != nil {
		return false
	}
	defer program.Close()
	file, err := link.OpenExecutable("/proc/self/exe")
	if err != nil {
		return false
	}
	probe, err := file.UprobeMulti(nil, program,
		&link.UprobeMultiOptions{Addresses: []uint64{offset}, PID: uint32(os.Getpid())})
	if err != nil {
		return false
	}
	callOnAnotherThread(emulated)
	go probe.Close() // the kernel takes some time for that
	var seen uint64
	return hits.Lookup(uint32(0), &seen) == nil && seen > 0
}

// countHit returns a program that adds 1 to the only entry of a map.
func countHit(hits *ebpf.Map) asm.Instructions {
	return asm.Instructions{
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, hits.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	}
}

// callOnAnotherThread calls fn on a thread that is not the first of the process.
func callOnAnotherThread(fn func()) {
	done := make(chan struct{})
	var call func()
	call = func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if unix.Gettid() != os.Getpid() {
			fn()
			close(done)
			return
		}
		go call() // this thread is busy until the call has another thread
		<-done
	}
	go call()
	<-done
}
