package limit

import (
	"encoding/json"
	"errors"
	"io"
	"os/signal"
	"syscall"

	"ipytracer/internal/host/process"
)

// server is the state of the guard's process.
type server struct {
	set map[process.Identity]imposed // the limits that were set
}

// Serve runs the guard. It becomes the user, and answers the tracer's requests until the pipe is closed. Then it
// restores the earlier limits.
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

// answer carries out a request.
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

// failure returns the response for an error.
func failure(err error) response {
	out := response{Text: err.Error()}
	var ofLimit *Error
	var ofProcess *process.Error
	switch {
	case errors.As(err, &ofLimit):
		out.PID, out.Size = ofLimit.PID, ofLimit.Size
	case errors.As(err, &ofProcess):
		out.PID = ofProcess.PID
	}
	for name, kind := range kinds {
		if errors.Is(err, kind) {
			out.Kind = name
		}
	}
	return out
}

// hasStill reports whether a process still has the limit that was set. It needs no right on the process.
func hasStill(id process.Identity, i imposed) bool {
	now, err := proc.Proc(id.PID).Rlimits()
	return err == nil && now.Data.Soft == sizeOf(i.ours)
}

// restore restores all earlier limits. A descendant of a limited process has inherited its limit, and gets that
// process's earlier limit. others may also be descendants.
func (s *server) restore(others []process.Identity) (out response) {
	for id, i := range s.set {
		candidates := []process.Identity{id}
		if descendants, err := proc.Descendants(id.PID); err == nil {
			candidates = append(candidates, descendants...)
		}
		for _, candidate := range append(candidates, others...) {
			was, err := putBack(candidate, i)
			switch {
			case was && err == nil:
				out.Restored++
			case errors.Is(err, ErrNoRights) && !hasStill(candidate, i): // not limited: sudo, say
			case err != nil && !errors.Is(err, process.ErrNoProcess):
				out.Failed = append(out.Failed, candidate.PID)
			}
		}
	}
	clear(s.set)
	return out
}
