package main

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/report"
	"ipytracer/report/html"
)

// A page of a session is made of the whole recording: what a cell's figures are can depend on what comes after it. So a recording that grows
// is read from its beginning each time, and the time that takes is bounded: reading is a tenth of the time at most, and nothing is read
// while nobody looks.
const (
	readingShare = 10              // one in so many
	stillAfter   = 3 * time.Second // a recording that has not grown for so long is read as soon as half of the time is left to others
)

// viewer answers browsers with the page of a recording.
type viewer struct {
	file     *os.File
	noSource bool
	host     string // what a browser must take this for: another name may be another's, that leads here (DNS rebinding)
	token    string
	until    context.Context // when this is over, reading ends
	guests   guests

	mu      sync.Mutex
	version int    // of the page, from 1
	data    []byte // of it
	size    int64  // of the recording when it was read
	failed  error  // of the last reading
	reading bool
	took    time.Duration // the last reading
	last    time.Time     // when that was over
	seen    int64         // the recording's size when somebody last looked
	grew    time.Time     // when that was last another one than before
}

// newest is the newest page there is. Somebody looks: the recording is read again meanwhile, if it has grown and it is time.
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
	if info.Size() != v.size && !v.reading && v.isTime(now) {
		v.reading = true
		go func() { _ = v.read() }() // newest tells the error to who looks next
	}
	return v.data, v.version, v.failed
}

// isTime says whether the recording may be read again.
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
	size, data, err := v.page(v.version + 1) // nobody else counts meanwhile
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reading, v.failed = false, err
	v.last = time.Now()
	v.took = v.last.Sub(began)
	v.size = size // also where it cannot be read: it is tried again when it has grown
	if err == nil {
		v.data = data
		v.version++
	}
	return err
}

// page is the page of the recording as far as it goes now.
func (v *viewer) page(version int) (size int64, data []byte, err error) {
	info, err := v.file.Stat()
	if err != nil {
		return 0, nil, err
	}
	size = info.Size()
	source, err := recording.Open(io.NewSectionReader(v.file, 0, size))
	if err != nil {
		return size, nil, err
	}
	all := &both{attribution.New(), attribution.NewAuditor()}
	if err := source.Each(v.until, func(e event.Event) { all.Add(e) }); err != nil {
		return size, nil, err
	}
	r, audit := all.reports.Stream(), all.auditor.Audit(leastOfPage)
	if v.noSource {
		r, audit = report.WithoutSource(r), report.AuditWithoutSource(audit)
	}
	data, err = html.Data(r, html.Options{Audit: audit, Version: version})
	return size, data, err
}
