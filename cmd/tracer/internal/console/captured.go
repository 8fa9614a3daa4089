package console

import (
	"strings"
	"sync"

	"ipytracer/internal/report/escape"
)

// Head keeps the beginning of a program's output, up to 64 KiB. It may be any program of its user's.
type Head struct{ Text []byte }

// Write accepts everything and keeps as much as there is room for.
func (f *Head) Write(p []byte) (int, error) {
	const most = 64 << 10
	f.Text = append(f.Text, p[:min(len(p), most-len(f.Text))]...)
	return len(p), nil
}

// Tail keeps the end of a program's output.
type Tail struct {
	mu   sync.Mutex
	tail []byte
}

// mostSaid is the kept length, in bytes.
const mostSaid = 16 << 10

func (l *Tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, p...)
	if n := len(l.tail); n > mostSaid {
		l.tail = append([]byte(nil), l.tail[n-mostSaid:]...)
	}
	return len(p), nil
}

// Text returns the last line.
func (l *Tail) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(l.tail), "?")), "\n")
	return escape.Bounded(strings.TrimPrefix(lines[len(lines)-1], "tracer: "), 400)
}
