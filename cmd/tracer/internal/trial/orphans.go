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

// adopt makes this process the parent of processes that a run leaves (PR_SET_CHILD_SUBREAPER), so that they can be
// ended: a kernel may have forked any.
func adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("take in the processes of a run: %w", err)
	}
	return nil
}

// patience bounds the end of the processes that a run has left.
const patience = 10 * time.Second

// endOrphans kills the children of this process that belong to a user, and theirs, until there are none. This process
// must wait for no other child meanwhile. A child that nobody has waited for keeps its number, so no other process is
// killed.
func endOrphans(uid uint32) {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		found := false
		for _, pid := range children(uid) {
			found = true
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				continue
			}
			_ = unix.Kill(pid, unix.SIGKILL)
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 1000)
			unix.Close(fd)
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
		if !found {
			return
		}
	}
}

// children lists the children of this process that are a user's.
func children(uid uint32) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/status")
	self := fmt.Appendf(nil, "\nPPid:\t%d\n", os.Getpid())
	user := fmt.Appendf(nil, "\nUid:\t%d\t", uid)
	for _, path := range all {
		status, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(status, self) || !bytes.Contains(status, user) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
