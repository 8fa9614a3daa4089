package saved

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"ipytracer/attribution"
	"ipytracer/cmd/tracer/internal/output"
	"ipytracer/internal/report/html"
	"ipytracer/report"
)

// A page is made of the whole recording, because a cell's figures can depend on later events. So a growing recording is
// read from its beginning each time. Reading takes at most a tenth of the time, and stops while no browser requests the
// page.
const (
	readingShare = 10 // the inverse of the share of time
	// A recording that has not grown for stillAfter is read as soon as half of the time is left for other work.
	stillAfter = 3 * time.Second
)

// viewer answers browsers with the page of a recording.
type viewer struct {
	file     *os.File
	noSource bool
	// host is the only name that a browser may use for this server: another name may be an attacker's that leads here
	// (DNS rebinding)
	host   string
	token  string
	until  context.Context // its end ends reading
	guests guests

	mu      sync.Mutex
	version int           // of the page, from 1
	data    []byte        // of the page
	size    int64         // of the recording at the last reading
	failed  error         // of the last reading
	reading chan struct{} // closed at the end of the reading under way; nil: nothing is read
	took    time.Duration // duration of the last reading
	last    time.Time     // end of the last reading
	seen    int64         // the recording's size at the last request
	grew    time.Time     // the last change of that size
}

// newest returns the newest page. Meanwhile it has the recording read again, if it has grown and it is time.
func (v *viewer) newest() (data []byte, version int, err error) {
	info, err := v.file.Stat()
	if err != nil {
		return nil, 0, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if info.Size() != v.seen {
		v.seen, v.grew = info.Size(), now
	}
	if info.Size() != v.size && v.reading == nil && v.isTime(now) {
		ended := make(chan struct{})
		v.reading = ended
		go func() {
			defer close(ended)
			_ = v.read() // newest returns the error to the next request
		}()
	}
	return v.data, v.version, v.failed
}

// isTime reports whether the recording may be read again.
func (v *viewer) isTime(now time.Time) bool {
	rest := (readingShare - 1) * v.took
	if now.Sub(v.grew) >= stillAfter {
		rest = v.took
	}
	return now.Sub(v.last) >= rest
}

// read reads the recording and makes its page.
func (v *viewer) read() error {
	began := time.Now()
	size, data, err := v.page(v.version + 1) // no other goroutine counts meanwhile
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reading, v.failed = nil, err
	v.last = time.Now()
	v.took = v.last.Sub(began)
	v.size = size // even for an unreadable one: the next try is when it has grown
	if err == nil {
		v.data = data
		v.version++
	}
	return err
}

// page returns the page of the recording so far.
func (v *viewer) page(version int) (size int64, data []byte, err error) {
	info, err := v.file.Stat()
	if err != nil {
		return 0, nil, err
	}
	size = info.Size()
	tracker, findings := attribution.NewAudited()
	if _, err := readRecording(v.until, io.NewSectionReader(v.file, 0, size), tracker.Add); err != nil {
		return size, nil, err
	}
	r, audit := tracker.Stream(), findings.Audit(output.LeastLeak)
	if v.noSource {
		r, audit = report.WithoutSource(r), report.AuditWithoutSource(audit)
	}
	data, err = html.Data(r, html.Options{Audit: audit, Version: version})
	return size, data, err
}
