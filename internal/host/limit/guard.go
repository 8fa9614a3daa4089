package limit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"syscall"

	"ipytracer/internal/host/process"
)

// GuardCommand is the hidden command of the program by which a [Guard] starts: GuardCommand UID GID, which calls
// [Serve].
const GuardCommand = "limit-guard"

// Guard is a process that sets limits. It restores the earlier limits on request, or when its pipe is closed because
// the tracer has ended, for whatever reason. The process runs as the target's user, without capabilities, and in a
// session of its own, so that it gets no signals from a terminal.
type Guard struct {
	cmd *exec.Cmd
	to  io.WriteCloser
	out *json.Encoder
	in  *json.Decoder
}

// request is a line to the guard.
type request struct {
	Impose *process.Identity `json:",omitempty"` // the process to limit to Bytes
	Bytes  int64             `json:",omitempty"`
	// End restores all earlier limits. Restore has further processes that may have inherited a limit.
	Restore []process.Identity `json:",omitempty"`
	End     bool               `json:",omitempty"`
}

// response is the guard's answer to each request.
type response struct {
	Restored int    `json:",omitempty"`
	Failed   []int  `json:",omitempty"` // pids of the processes whose limits could not be restored
	Kind     string `json:",omitempty"` // the kind of error
	PID      int    `json:",omitempty"`
	Size     int64  `json:",omitempty"`
	Text     string `json:",omitempty"`
}

// kinds are the kinds of errors in responses, by their names there.
var kinds = map[string]error{
	"mapped": ErrMapped, "hard": ErrHard, "tighter": ErrTighter, "rights": ErrNoRights, "gone": process.ErrNoProcess,
}

// StartGuard starts a guard for processes of one user.
func StartGuard(u User) (*Guard, error) {
	g := &Guard{cmd: exec.Command("/proc/self/exe", GuardCommand, strconv.Itoa(int(u.UID)), strconv.Itoa(int(u.GID)))}
	g.cmd.Env, g.cmd.Dir = []string{"GOGC=50"}, "/"
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	to, err := g.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard of limits: %w", err)
	}
	from, err := g.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard of limits: %w", err)
	}
	if err := g.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the guard of limits: %w", err)
	}
	g.to, g.out, g.in = to, json.NewEncoder(to), json.NewDecoder(from)
	var ready response
	if err := g.in.Decode(&ready); err != nil || ready.Text != "" {
		return nil, errors.Join(fmt.Errorf("start the guard of limits: %s", ready.Text), err, g.Close())
	}
	return g, nil
}

// Impose limits a process. It fails with an [*Error], or process.ErrNoProcess.
func (g *Guard) Impose(id process.Identity, bytes int64) error {
	_, err := g.ask(request{Impose: &id, Bytes: bytes})
	return err
}

// Restore restores the earlier limits of the processes that were limited, of their descendants, and of others, which
// may be descendants of limited processes that have ended. It leaves limits alone that another program has changed
// meanwhile. failed has the processes whose limits could not be restored.
func (g *Guard) Restore(others []process.Identity) (failed []int, err error) {
	answer, err := g.ask(request{Restore: others, End: true})
	return answer.Failed, err
}

// ask sends a request, and waits for the response.
func (g *Guard) ask(r request) (answer response, err error) {
	if err := g.out.Encode(r); err != nil {
		return answer, fmt.Errorf("the guard of limits has gone: %w", err)
	}
	if err := g.in.Decode(&answer); err != nil {
		return answer, fmt.Errorf("the guard of limits has gone: %w", err)
	}
	return answer, answer.err()
}

// err returns the error of a response, or nil.
func (a response) err() error {
	kind := kinds[a.Kind]
	switch {
	case kind == process.ErrNoProcess:
		return &process.Error{PID: a.PID, Kind: kind}
	case kind != nil:
		return &Error{PID: a.PID, Kind: kind, Size: a.Size}
	case a.Text != "":
		return errors.New(a.Text)
	}
	return nil
}

// Close ends the guard, which restores the remaining limits, and waits for it.
func (g *Guard) Close() error {
	_ = g.to.Close()
	return g.cmd.Wait()
}
