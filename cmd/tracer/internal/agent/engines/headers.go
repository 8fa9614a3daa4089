package engines

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
)

// headers are the headers of each request to an engine, from a file with a line "Name: value" for each. The file is
// read again now and then: tokens change. No error has a value of it. The methods may be called from any goroutine.
type headers struct {
	name string // "" for none
	open func(string) (*os.File, error)

	mu      sync.Mutex
	present map[string]string
	read    time.Time
	once    bool // it is no file that could be read again
}

// Bounds on the file.
const (
	maxHeaderFile = 64 << 10
	maxHeaders    = 32
)

// newHeaders reads a file with a function that opens it. Without a name there are no headers.
func newHeaders(name string, open func(string) (*os.File, error)) (*headers, error) {
	h := &headers{name: name, open: open}
	return h, h.renew(time.Now(), 0)
}

// all returns the headers by name, in lower case. The caller must not change them.
func (h *headers) all() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.present
}

// renew reads the file again, if the headers have an age or more. After an error they stay as they are.
func (h *headers) renew(now time.Time, age time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.name == "" || h.once || !h.read.IsZero() && now.Sub(h.read) < age {
		return nil
	}
	h.read = now
	f, err := h.open(h.name)
	if err != nil {
		return fmt.Errorf("headers_file: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil {
		h.once = !st.Mode().IsRegular()
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxHeaderFile+1))
	if err != nil {
		return fmt.Errorf("headers_file: %w", err)
	}
	found, line, err := parseHeaders(string(raw))
	if err != nil {
		return fmt.Errorf("headers_file: %s:%d: %w", h.name, line, err)
	}
	h.present = found
	return nil
}

// Mistakes in a file of headers.
var (
	errHeader      = errors.New("it is no header such as Authorization: Bearer TOKEN")
	errOurs        = errors.New("this header is the request's own")
	errManyHeaders = fmt.Errorf("there are more than %d headers, or more than %d KiB", maxHeaders, maxHeaderFile>>10)
)

// parseHeaders returns the headers of a file by name, or the line with a mistake.
func parseHeaders(text string) (all map[string]string, line int, err error) {
	all = map[string]string{}
	if len(text) > maxHeaderFile {
		return nil, 1, errManyHeaders
	}
	for one := range strings.Lines(text) {
		line++
		if one = strings.TrimSpace(one); one == "" || strings.HasPrefix(one, "#") {
			continue
		}
		name, value, found := strings.Cut(one, ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !found || value == "" || !httpguts.ValidHeaderFieldName(name) || !isPrintable(value) {
			return nil, line, errHeader
		}
		if isOwn(name) {
			return nil, line, errOurs
		}
		if all[name] = value; len(all) > maxHeaders {
			return nil, line, errManyHeaders
		}
	}
	return all, 0, nil
}

// isPrintable reports whether a value may stand in a header of HTTP and of gRPC.
func isPrintable(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

// isOwn reports whether a header is for the protocol to set.
func isOwn(name string) bool {
	switch name {
	case "host", "content-type", "content-length", "content-encoding", "transfer-encoding", "connection", "te",
		"trailer", "upgrade", "user-agent", "accept-encoding":
		return true
	}
	return strings.HasPrefix(name, "grpc-") || strings.HasSuffix(name, "-bin")
}
