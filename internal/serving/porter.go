package serving

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// PorterCommand is the hidden command by which [StartPorter] starts a porter. The command calls [AwaitKill].
const PorterCommand = "serve-porter"

// StartPorter starts this program as a process that has the files open, and does nothing until it is killed or the
// process that started it ends.
func StartPorter(files []*os.File) (*Child, error) {
	cmd := exec.Command("/proc/self/exe", PorterCommand)
	cmd.Env, cmd.Dir, cmd.ExtraFiles = []string{"GOMAXPROCS=1"}, "/", files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if _, err := cmd.StdinPipe(); err != nil { // which closes as this program ends
		return nil, fmt.Errorf("start a porter: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a porter: %w", err)
	}
	ended := make(chan struct{})
	go func() { // one for each porter: maxPorters
		_ = cmd.Wait()
		close(ended)
	}()
	return &Child{Signal: func(s unix.Signal) error { return cmd.Process.Signal(s) }, Ended: ended,
		Said: func() string { return "" }}, nil
}

// AwaitKill runs a porter: it returns when no process has the other end of its standard input any more.
func AwaitKill() { _, _ = io.Copy(io.Discard, os.Stdin) }
