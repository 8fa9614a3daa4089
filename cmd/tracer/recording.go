package main

import (
	"fmt"

	"ipytracer/event"
)

// record writes one event to the recording. It reports a failure once; tracing goes on, the report is not lost.
func (s *session) record(e event.Event) {
	if s.recorder == nil || s.trouble != nil {
		return
	}
	if s.options.NoSource {
		e = withoutSource(e)
	}
	s.recordingFailed(s.recorder.Write(e))
}

func (s *session) flush() {
	if s.recorder != nil && s.trouble == nil {
		s.recordingFailed(s.recorder.Flush())
	}
}

func (s *session) recordingFailed(err error) {
	if err == nil || s.trouble != nil {
		return
	}
	s.trouble = err
	_, message := explain(err)
	fmt.Fprintf(s.console.err, "tracer: the recording stops here: %s; tracing goes on\n", message)
}

func (s *session) closeRecording() error {
	if s.recorder == nil {
		return nil
	}
	s.recordingFailed(s.recorder.Close())
	s.recorder = nil
	return nil
}
