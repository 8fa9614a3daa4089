// Package look lets the program look into everybody's processes and files. It does so in a separate process, which is
// the invoking user's and has no rights, with a helper that opens files ([process.Helper.TakeOver]). The callers decide
// what to look for.
package look

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"ipytracer/internal/host/process"
)

// Command is the hidden command that looks: it calls [Serve].
const Command = "look"

const (
	patience  = 5 * time.Second
	maxAnswer = 64 << 20 // bytes of an answer
)

// For is one thing that can be looked for.
type For struct {
	Reads []string // files that are read by name, as the invoking user
	// Find looks. Its result is sent as JSON. pid is the process that the look is about, 0 if there is none; home is
	// the invoking user's.
	Find func(ctx context.Context, fs process.FS, pid int, home string) (any, error)
	// Examiner, in the place of Find, makes the function that answers the questions of a [Worker], one after another.
	// It may note what it is busy with, as JSON, for whoever asks to know if no answer comes.
	Examiner func(fs process.FS, note func(any)) (answer func(question json.RawMessage) (any, error))
}

// answer is the process's answer, as JSON.
type answer struct {
	Found json.RawMessage `json:",omitempty"`
	Note  json.RawMessage `json:",omitempty"` // what it is busy with; an answer follows
	Error string          `json:",omitempty"`
	// For an error that is about a process: the process, and the kind.
	PID, Leader int    `json:",omitempty"`
	Kind        string `json:",omitempty"`
}

// kinds are the errors about processes that the answer distinguishes.
var kinds = map[string]error{
	"gone": process.ErrNoProcess, "permission": process.ErrNotPermitted, "zombie": process.ErrZombie,
	"other":   process.ErrNotPython,
	"changed": process.ErrChanged, "large": process.ErrTooLarge, "malformed": process.ErrMalformed,
	"silent": process.ErrNoAnswer,
}

func failed(err error) answer {
	a := answer{Error: err.Error()}
	var of *process.Error
	if errors.As(err, &of) {
		for kind, one := range kinds {
			if of.Kind == one {
				a.Kind, a.PID, a.Leader = kind, of.PID, of.Leader
			}
		}
		if a.Kind != "" && of.Cause != nil {
			a.Error = of.Cause.Error()
		}
	}
	return a
}

func (a *answer) err() error {
	if kind := kinds[a.Kind]; kind != nil {
		return &process.Error{PID: a.PID, Kind: kind, Leader: a.Leader, Cause: errors.New(a.Error)}
	}
	if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}
