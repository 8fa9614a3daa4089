package confine

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// OnOwnThread runs a function on a thread on which nothing else runs, neither meanwhile nor afterwards: the runtime
// ends a thread with a goroutine that ends while locked to it. The first thread is left alone, as /proc/PID shows its
// credentials.
func OnOwnThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		f()
		return
	}
	begun := make(chan struct{})
	go func() {
		runtime.LockOSThread() // another thread: the first one is taken
		close(begun)
		f()
	}()
	<-begun
	runtime.UnlockOSThread()
}
