package session

import (
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/event"
)

// record writes one event to the recording. It reports a failure once; tracing goes on, the report is not lost.
func (s *Session) record(e event.Event) {
	if s.recorder == nil || s.trouble != nil {
		return
	}
	if s.Options.NoSource {
		e = withoutSource(e)
	}
	s.recordingFailed(s.recorder.Write(e))
}

func (s *Session) flush() {
	if s.recorder != nil && s.trouble == nil {
		s.recordingFailed(s.recorder.Flush())
	}
}

func (s *Session) recordingFailed(err error) {
	if err == nil || s.trouble != nil {
		return
	}
	s.trouble = err
	_, message := status.Explain(err)
	s.Console.Say("the recording stops here: %s; tracing goes on", message)
}

func (s *Session) closeRecording() error {
	if s.recorder == nil {
		return nil
	}
	s.recordingFailed(s.recorder.Close())
	s.recorder = nil
	return nil
}
