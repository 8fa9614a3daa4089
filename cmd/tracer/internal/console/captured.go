package console

import (
	"strings"
	"sync"

	"ipytracer/internal/report/escape"
)

// Head keeps the first 64 KiB of a program's output. The program may be any of its user's.
type Head struct{ Text []byte }

// Write accepts everything and keeps as much as there is room for.
func (f *Head) Write(p []byte) (int, error) {
	const maxBytes = 64 << 10
	f.Text = append(f.Text, p[:min(len(p), maxBytes-len(f.Text))]...)
	return len(p), nil
}

// Tail keeps the end of a program's output, up to maxTail bytes. Any goroutine may call its methods.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 16 << 10 // bytes

func (l *Tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if n := len(l.text); n > maxTail {
		l.text = append([]byte(nil), l.text[n-maxTail:]...)
	}
	return len(p), nil
}

// Text returns the last line, without "tracer: ".
func (l *Tail) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(l.text), "?")), "\n")
	return escape.Bounded(strings.TrimPrefix(lines[len(lines)-1], "tracer: "), 400)
}
