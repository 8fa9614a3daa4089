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
// read again now and then, since tokens change. No error has the value of a header. Any goroutine may call the methods.
type headers struct {
	name string // of the file; "" for no headers
	open func(string) (*os.File, error)

	mu       sync.Mutex
	values   map[string]string // by name
	lastRead time.Time
	oneShot  bool // the file is a pipe or such, and cannot be read again
}

// Bounds on the file.
const (
	maxHeaderFile = 64 << 10
	maxHeaders    = 32
)

// newHeaders reads the headers from the file with a name. Without a name there are no headers.
func newHeaders(name string, open func(string) (*os.File, error)) (*headers, error) {
	h := &headers{name: name, open: open}
	return h, h.renew(time.Now(), 0)
}

// all returns the headers by name, in lower case. The caller must not change them.
func (h *headers) all() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.values
}

// renew reads the file again if the headers are at least as old as age. After an error the headers stay as they are.
func (h *headers) renew(now time.Time, age time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	isYoung := !h.lastRead.IsZero() && now.Sub(h.lastRead) < age
	if h.name == "" || h.oneShot || isYoung {
		return nil
	}
	h.lastRead = now
	f, err := h.open(h.name)
	if err != nil {
		return fmt.Errorf("headers_file: %w", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil {
		h.oneShot = !st.Mode().IsRegular()
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxHeaderFile+1))
	if err != nil {
		return fmt.Errorf("headers_file: %w", err)
	}
	found, line, err := parseHeaders(string(raw))
	if err != nil {
		return fmt.Errorf("headers_file: %s:%d: %w", h.name, line, err)
	}
	h.values = found
	return nil
}

// Mistakes in a file of headers.
var (
	errHeader      = errors.New("it is no header such as Authorization: Bearer TOKEN")
	errOwnHeader   = errors.New("this header is the request's own")
	errManyHeaders = fmt.Errorf("there are more than %d headers, or more than %d KiB", maxHeaders, maxHeaderFile>>10)
)

// parseHeaders returns the headers of a file by name. After an error, line is the line with the mistake, from 1.
func parseHeaders(text string) (headers map[string]string, line int, err error) {
	headers = map[string]string{}
	if len(text) > maxHeaderFile {
		return nil, 1, errManyHeaders
	}
	for entry := range strings.Lines(text) {
		line++
		if entry = strings.TrimSpace(entry); entry == "" || strings.HasPrefix(entry, "#") {
			continue
		}
		name, value, found := strings.Cut(entry, ":")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)
		if !found || value == "" || !httpguts.ValidHeaderFieldName(name) || !isPrintable(value) {
			return nil, line, errHeader
		}
		if isOwn(name) {
			return nil, line, errOwnHeader
		}
		if headers[name] = value; len(headers) > maxHeaders {
			return nil, line, errManyHeaders
		}
	}
	return headers, 0, nil
}

// isPrintable reports whether a value may stand in a header of HTTP and of gRPC.
func isPrintable(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

// isOwn reports whether only the protocol may set a header.
func isOwn(name string) bool {
	switch name {
	case "host", "content-type", "content-length", "content-encoding", "transfer-encoding", "connection", "te",
		"trailer", "upgrade", "user-agent", "accept-encoding":
		return true
	}
	return strings.HasPrefix(name, "grpc-") || strings.HasSuffix(name, "-bin")
}
