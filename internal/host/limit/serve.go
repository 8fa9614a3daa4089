package limit

import (
	"encoding/json"
	"errors"
	"io"
	"os/signal"
	"syscall"

	"ipytracer/internal/host/process"
)

// server is the guard's own side.
type server struct {
	set map[process.Identity]imposed
}

// Serve is the guard: it becomes the user, and serves the tracer until the pipe is closed. Then it puts the earlier
// limits back.
func Serve(u User, in io.Reader, out io.Writer) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	s := server{set: map[process.Identity]imposed{}}
	answers := json.NewEncoder(out)
	if err := Become(u); err != nil {
		return errors.Join(err, answers.Encode(response{Text: err.Error()}))
	}
	if err := answers.Encode(response{}); err != nil {
		return err
	}
	defer s.restore(nil)
	requests := json.NewDecoder(in)
	for {
		var r request
		if err := requests.Decode(&r); err != nil {
			return nil // the tracer has gone
		}
		if err := answers.Encode(s.answer(r)); err != nil {
			return nil
		}
	}
}

func (s *server) answer(r request) response {
	if r.End {
		return s.restore(r.Restore)
	}
	if r.Impose == nil {
		return response{Text: "nothing asked"}
	}
	i, err := impose(*r.Impose, r.Bytes, sessionMark)
	if err == nil {
		s.set[*r.Impose] = i
		return response{}
	}
	return failure(err)
}

func failure(err error) response {
	out := response{Text: err.Error()}
	var limit *Error
	var located *process.Error
	switch {
	case errors.As(err, &limit):
		out.PID, out.Size = limit.PID, limit.Size
	case errors.As(err, &located):
		out.PID = located.PID
	}
	for name, kind := range kinds {
		if errors.Is(err, kind) {
			out.Kind = name
		}
	}
	return out
}

// hasStill reports whether a process that is not ours to change has the limit.
func hasStill(id process.Identity, i imposed) bool {
	now, err := proc.Proc(id.PID).Rlimits()
	return err == nil && now.Data.Soft == sizeOf(i.ours)
}

// restore puts everything back. A process that a limited process has started has its limit, and gets the limit that the
// limited one had before.
func (s *server) restore(others []process.Identity) (out response) {
	for id, i := range s.set {
		all := []process.Identity{id}
		if below, err := proc.Descendants(id.PID); err == nil {
			all = append(all, below...)
		}
		for _, one := range append(all, others...) {
			was, err := putBack(one, i)
			switch {
			case was && err == nil:
				out.Restored++
			case errors.Is(err, ErrNoRights) && !hasStill(one, i): // another user's: a program with a set-user-id, sudo
			case err != nil && !errors.Is(err, process.ErrNoProcess):
				out.Failed = append(out.Failed, one.PID)
			}
		}
	}
	clear(s.set)
	return out
}
