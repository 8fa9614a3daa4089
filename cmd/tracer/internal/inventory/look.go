package inventory

// This file lets the program look into the processes and files of all users. A process of its own does that, with the
// invoking user's id and without rights; a helper opens the files for it ([process.Helper.TakeOver]). The callers
// decide what to look for.

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"ipytracer/internal/host/process"
)

// LookCommand is the hidden command of the process that looks. It calls [ServeLook].
const LookCommand = "look"

const (
	lookPatience  = 5 * time.Second // for one look
	maxLookAnswer = 64 << 20        // bytes of an answer
)

// LookFor is a kind of look, as its caller defines it: with either Find or Examiner.
type LookFor struct {
	Reads []string // files that are read by name, as the invoking user
	// Find looks. Its result is sent as JSON. pid is the process that the look is about, or 0; home is the home folder
	// of the invoking user.
	Find func(ctx context.Context, fs process.FS, pid int, home string) (any, error)
	// Examiner returns the function that answers the questions of a [Looker], one after another. That function may
	// call note to say, as JSON, what it is busy with. The asking program learns that even if no answer comes.
	Examiner func(fs process.FS, note func(any)) (answer func(question json.RawMessage) (any, error))
}

// lookAnswer is an answer of the process that looks, as JSON.
type lookAnswer struct {
	Found json.RawMessage `json:",omitempty"`
	Note  json.RawMessage `json:",omitempty"` // what the process is busy with; an answer follows
	Error string          `json:",omitempty"`
	// LookFor an error about a process: the process, and the kind.
	PID, Leader int    `json:",omitempty"`
	Kind        string `json:",omitempty"`
}

// lookErrors are the kinds of errors about processes, by their names in answers.
var lookErrors = map[string]error{
	"gone": process.ErrNoProcess, "permission": process.ErrNotPermitted, "zombie": process.ErrZombie,
	"other":   process.ErrNotPython,
	"changed": process.ErrChanged, "large": process.ErrTooLarge, "malformed": process.ErrMalformed,
	"silent": process.ErrNoAnswer,
}

// failedLook returns the answer for an error.
func failedLook(err error) lookAnswer {
	a := lookAnswer{Error: err.Error()}
	var ofProcess *process.Error
	if errors.As(err, &ofProcess) {
		for name, kind := range lookErrors {
			if ofProcess.Kind == kind {
				a.Kind, a.PID, a.Leader = name, ofProcess.PID, ofProcess.Leader
			}
		}
		if a.Kind != "" && ofProcess.Cause != nil {
			a.Error = ofProcess.Cause.Error()
		}
	}
	return a
}

// err returns the error of an answer, or nil.
func (a *lookAnswer) err() error {
	if kind := lookErrors[a.Kind]; kind != nil {
		return &process.Error{PID: a.PID, Kind: kind, Leader: a.Leader, Cause: errors.New(a.Error)}
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}
