package workload

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// threads makes eight threads map, touch and unmap at the same time, and then hold their memory at a barrier.
func threads(s *stage) {
	const count = 8
	runtime.GOMAXPROCS(count)
	own := s.touched(4 * mib)
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	ready.Add(count)
	for range count {
		done.Go(func() {
			runtime.LockOSThread()
			for range 100 {
				m := s.touched(mib)
				unmap(m)
			}
			memory := s.touched(4 * mib)
			ready.Done()
			<-release
			unmap(memory)
		})
	}
	ready.Wait()
	time.Sleep(20 * time.Millisecond) // until the scheduler's threads have gone to sleep
	s.peak()
	unmap(own) // before the others move: they need a page here and there to wake up
	close(release)
	done.Wait()
}

// fork reads the memory of child and parent in turn: the child reads its own while the parent waits, and then the
// parent reads its own while the child waits. So no memory moves between the two readings. The child of a program with
// threads may do little more than system calls.
func fork(s *stage) {
	memory := s.touched(32 * mib)
	check(unix.Pipe2(s.toUs[:], unix.O_CLOEXEC))
	check(unix.Pipe2(s.fromUs[:], unix.O_CLOEXEC))
	token := make([]byte, 1)
	// A child with a request to yield pending would wait for threads that it does not have: yield now.
	runtime.Gosched()
	pid, _, errno := unix.RawSyscall(forkCall, forkFlags, 0, 0)
	if errno != 0 {
		panic(errno)
	}
	if pid == 0 {
		s.inChild(memory, token)
	}
	must(unix.Read(s.toUs[0], token))
	s.peak()
	unmap(memory)
	must(unix.Write(s.fromUs[1], token))
	must(unix.Wait4(int(pid), nil, 0, nil))
}

func (s *stage) inChild(memory, token []byte) {
	s.pid = unix.Getpid()
	s.open()
	s.touch(memory[:16*mib])
	own := s.touched(8 * mib)
	s.peak()
	must(unix.Write(s.toUs[1], token))
	must(unix.Read(s.fromUs[0], token))
	unmap(own)
	s.send()
	unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
}

// execChild does not read the peak of its own process while the child runs: the process only waits.
func execChild(s *stage) {
	child := must(os.StartProcess("/proc/self/exe", []string{"tracer", "workload", "spike"}, &os.ProcAttr{
		Files: []*os.File{nil, nil, os.Stderr, os.NewFile(reportFD, "report")}, Sys: &syscall.SysProcAttr{},
	}))
	must(child.Wait())
	m := s.touched(16 * mib)
	s.peak()
	unmap(m)
}
