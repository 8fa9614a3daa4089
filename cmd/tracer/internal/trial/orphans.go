package trial

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of processes whose own parents have ended (PR_SET_CHILD_SUBREAPER). So
// [endOrphans] finds what a kernel has started.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("take in the processes of a run: %w", err)
	}
	return nil
}

// orphanTimeout bounds how long the processes that a run has left may take to end.
const orphanTimeout = 10 * time.Second

// endOrphans kills the user's processes among the children of this process, until none is left: a child's own children
// become children of this process. Meanwhile nothing else may wait for a child of this process. Until it is waited for,
// a child keeps its process ID, so the signal cannot reach another process.
func endOrphans(uid uint32) {
	for deadline := time.Now().Add(orphanTimeout); time.Now().Before(deadline); {
		pids := children(uid)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				continue
			}
			_ = unix.Kill(pid, unix.SIGKILL)
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000)
			unix.Close(fd)
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// children lists the children of this process that belong to a user.
func children(uid uint32) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/status")
	parentLine := fmt.Appendf(nil, "\nPPid:\t%d\n", os.Getpid())
	userLine := fmt.Appendf(nil, "\nUid:\t%d\t", uid)
	for _, path := range paths {
		status, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(status, parentLine) || !bytes.Contains(status, userLine) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
