package inventory

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"

	"ipytracer/internal/host/privileges"
	"ipytracer/internal/host/process"
	"ipytracer/tracer"
)

// ServeLook gives up all rights of this process for good, looks, and writes its answer to w. A look with an examiner
// answers the questions that come from r, until r ends.
func ServeLook(ctx context.Context, r io.Reader, w io.Writer, what LookFor, pid int) error {
	out := json.NewEncoder(w)
	if what.Examiner != nil {
		return out.Encode(failedLook(examine(ctx, r, out, what))) // examine returns only if it could not begin or write
	}
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	found, err := confined(ctx, what, pid)
	return out.Encode(answerOf(found, err))
}

// confine starts the helper of fs, and then gives up all rights. It returns the home folder of the invoking user.
func confine(fs process.FS, what LookFor) (home string, err error) {
	if err := fs.Helper.TakeOver(&process.Scope{}); err != nil {
		return "", err
	}
	who, err := privileges.FindInvoker()
	if err != nil {
		return "", err
	}
	remains := tracer.Remains{Reads: what.Reads, User: who.Heir()}
	return who.Home(), tracer.Withdraw(remains, nil, tracer.Looking(), func(error) {})
}

// confined gives up all rights, and calls what.Find.
func confined(ctx context.Context, what LookFor, pid int) (found any, err error) {
	fs := process.FS{Helper: process.NewHelper(ctx)}
	defer fs.Helper.Close()
	home, err := confine(fs, what)
	if err != nil {
		return nil, err
	}
	return what.Find(ctx, fs, pid, home)
}

// answerOf returns the answer with findings, or with an error.
func answerOf(found any, err error) (a lookAnswer) {
	if err != nil {
		return failedLook(err)
	}
	if a.Found, err = json.Marshal(found); err != nil {
		return failedLook(err)
	}
	return a
}

// examine gives up all rights, and answers questions. When r ends, the process ends at once, because the asking program
// waits for no answer any more.
func examine(ctx context.Context, r io.Reader, out *json.Encoder, what LookFor) error {
	fs := process.FS{Helper: process.NewHelper(ctx)}
	defer fs.Helper.Close()
	if _, err := confine(fs, what); err != nil {
		return err
	}
	questions := make(chan json.RawMessage)
	go func() { // until the end of r, and of this process
		in := json.NewDecoder(bufio.NewReader(r))
		for {
			var q json.RawMessage
			if in.Decode(&q) != nil {
				fs.Helper.Close()
				os.Exit(0)
			}
			questions <- q
		}
	}()
	reply := what.Examiner(fs, func(note any) {
		if text, err := json.Marshal(note); err == nil {
			_ = out.Encode(lookAnswer{Note: text})
		}
	})
	return answerAll(out, questions, reply)
}

// answerAll answers questions until there are no more.
func answerAll(out *json.Encoder, questions <-chan json.RawMessage, reply func(json.RawMessage) (any, error)) error {
	for q := range questions {
		if err := out.Encode(answerOf(reply(q))); err != nil {
			return err
		}
	}
	return nil
}
