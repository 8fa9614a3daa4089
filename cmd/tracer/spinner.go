package main

import (
	"io"
	"os"
	"time"

	"github.com/briandowns/spinner"
)

// progress shows on terminals that something goes on. The zero value shows nothing.
type progress struct{ spinner *spinner.Spinner }

// startSpinner begins after a moment, so that what is quick does not flicker.
func startSpinner(w io.Writer, quiet bool, doing string) *progress {
	f, ok := terminal(w)
	if !ok || quiet || os.Getenv("TERM") == "dumb" {
		return &progress{}
	}
	s := spinner.New(spinner.CharSets[14], 120*time.Millisecond, spinner.WithWriterFile(f), spinner.WithSuffix(" "+doing))
	s.Writer = w // which waits for nobody
	s.Start()
	return &progress{s}
}

func (p *progress) stop() {
	if p.spinner != nil {
		p.spinner.Stop()
	}
}
