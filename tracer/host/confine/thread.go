package confine

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// OnOwnThread runs a function on a thread that nothing else runs on, neither before it ends nor afterwards: the runtime
// ends a thread whose goroutine ends while locked to it. The first thread is left alone, as its credentials are those
// that /proc/PID shows.
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
