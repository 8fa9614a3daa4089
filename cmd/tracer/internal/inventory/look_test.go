package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"ipytracer/internal/host/process"
)

// TestErrorsArrive: an error about a process is the same for whoever asked as for whoever looked.
func TestErrorsArrive(t *testing.T) {
	cause := errors.New("its memory cannot be read")
	for name, kind := range lookErrors {
		was := &process.Error{PID: 4242, Kind: kind, Leader: 4241, Cause: cause}
		var located *process.Error
		err := sent(t, fmt.Errorf("look: %w", was))
		if !errors.Is(err, kind) || !errors.As(err, &located) || located.PID != 4242 || located.Leader != 4241 ||
			err.Error() != was.Error() {
			t.Errorf("%s: %v, was %v", name, err, was)
		}
	}
	if err := sent(t, cause); err == nil || err.Error() != cause.Error() {
		t.Errorf("another error: %v", err)
	}
	if err := (&lookAnswer{Found: json.RawMessage("{}")}).err(); err != nil {
		t.Errorf("no error: %v", err)
	}
}

// sent is an error on its way through the answer.
func sent(t *testing.T, err error) error {
	t.Helper()
	text, failure := json.Marshal(failedLook(err))
	if failure != nil {
		t.Fatal(failure)
	}
	var a lookAnswer
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	return a.err()
}
