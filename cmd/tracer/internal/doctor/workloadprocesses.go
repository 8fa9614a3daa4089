package doctor

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
	own := s.mapTouched(4 * mib)
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	ready.Add(count)
	for range count {
		done.Go(func() {
			runtime.LockOSThread()
			for range 100 {
				m := s.mapTouched(mib)
				unmap(m)
			}
			memory := s.mapTouched(4 * mib)
			ready.Done()
			<-release
			unmap(memory)
		})
	}
	ready.Wait()
	time.Sleep(20 * time.Millisecond) // until the scheduler's threads have gone to sleep
	s.peak()
	unmap(own) // before the others wake up, which takes some pages
	close(release)
	done.Wait()
}

// fork reads the memory of a child and its parent at one instant: each reads its own while the other waits, so that no
// memory moves between the readings. The child of a program with threads can do little more than system calls.
func fork(s *stage) {
	memory := s.mapTouched(32 * mib)
	check(unix.Pipe2(s.toParent[:], unix.O_CLOEXEC))
	check(unix.Pipe2(s.toChild[:], unix.O_CLOEXEC))
	token := make([]byte, 1)
	// Yield now: a child with a pending request to yield would wait for threads that it does not have.
	runtime.Gosched()
	pid, _, errno := unix.RawSyscall(forkCall, forkFlags, 0, 0)
	if errno != 0 {
		panic(errno)
	}
	if pid == 0 {
		s.inChild(memory, token)
	}
	must(unix.Read(s.toParent[0], token))
	s.peak()
	unmap(memory)
	must(unix.Write(s.toChild[1], token))
	must(unix.Wait4(int(pid), nil, 0, nil))
}

func (s *stage) inChild(memory, token []byte) {
	s.pid = unix.Getpid()
	s.open()
	s.touch(memory[:16*mib])
	own := s.mapTouched(8 * mib)
	s.peak()
	must(unix.Write(s.toParent[1], token))
	must(unix.Read(s.toChild[0], token))
	unmap(own)
	s.send()
	unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
}

// execChild runs a child with a peak, and has a peak of its own after that. Both are compared, but not the tree's.
func execChild(s *stage) {
	child := must(os.StartProcess("/proc/self/exe", []string{"tracer", "workload", "spike"}, &os.ProcAttr{
		Files: []*os.File{nil, nil, os.Stderr, os.NewFile(reportFD, "report")}, Sys: &syscall.SysProcAttr{},
	}))
	must(child.Wait())
	m := s.mapTouched(16 * mib)
	s.peak()
	unmap(m)
}
