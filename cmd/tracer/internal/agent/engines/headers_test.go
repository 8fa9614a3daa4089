package engines

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func fileOf(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestHeadersFile: a mistake is reported by line, without the line.
func TestHeadersFile(t *testing.T) {
	for text, want := range map[string]string{
		"Authorization: secret\nsecret\n":         "2: it is no header such as Authorization: Bearer TOKEN",
		"\n\nX-Key:\n":                            "3: it is no header such as Authorization: Bearer TOKEN",
		"X Key: secret":                           "1: it is no header such as Authorization: Bearer TOKEN",
		"X-Key: secret\x00":                       "1: it is no header such as Authorization: Bearer TOKEN",
		"X-Key: sécret":                           "1: it is no header such as Authorization: Bearer TOKEN",
		"Host: secret":                            "1: this header is the request's own",
		"grpc-timeout: 1S":                        "1: this header is the request's own",
		"a-bin: secret":                           "1: this header is the request's own",
		"Content-Length: 1":                       "1: this header is the request's own",
		strings.Repeat("X-Key: secret\n", 10_000): "1: there are more than 32 headers, or more than 64 KiB",
	} {
		name := fileOf(t, text)
		_, err := newHeaders(name, os.Open)
		if err == nil || err.Error() != "headers_file: "+name+":"+want || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
	many := ""
	for i := range 40 {
		many += fmt.Sprintf("X-%d: secret\n", i)
	}
	if _, line, err := parseHeaders(many); line != 33 || err == nil {
		t.Errorf("line %d, %v", line, err)
	}
	if _, err := newHeaders("/nowhere/at/all", os.Open); err == nil {
		t.Error("a file that is not there")
	}
	if h, err := newHeaders("", nil); err != nil || len(h.all()) != 0 {
		t.Errorf("without a file: %v, %v", h.all(), err)
	}
}

// TestHeadersAgain: a file is read again once it has an age. A mistake in it, or none of it, changes nothing.
func TestHeadersAgain(t *testing.T) {
	name := fileOf(t, "# of the node\nX-Scope-OrgID: lab\n")
	h, err := newHeaders(name, os.Open)
	if err != nil || fmt.Sprint(h.all()) != "map[x-scope-orgid:lab]" {
		t.Fatal(h.all(), err)
	}
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	write("a: b\n")
	if err := h.renew(now, time.Hour); err != nil || h.all()["a"] != "" {
		t.Errorf("before it is due: %v, %v", h.all(), err)
	}
	if err := h.renew(now.Add(2*time.Minute), time.Minute); err != nil || fmt.Sprint(h.all()) != "map[a:b]" {
		t.Errorf("once it is due: %v, %v", h.all(), err)
	}
	write("no header, secret\n")
	if err := h.renew(now.Add(time.Hour), 0); err == nil || fmt.Sprint(h.all()) != "map[a:b]" {
		t.Errorf("with a mistake: %v, %v", h.all(), err)
	}
	if os.Remove(name) != nil || h.renew(now.Add(time.Hour), 0) == nil || fmt.Sprint(h.all()) != "map[a:b]" {
		t.Errorf("once it is gone: %v", h.all())
	}
}

// TestHeadersOnce: what is no regular file is read once: the second time, nobody may write to it.
func TestHeadersOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(name, []byte("a: b\n"), 0) }()
	h, err := newHeaders(name, os.Open)
	if err != nil || <-wrote != nil {
		t.Fatal(err)
	}
	if err := h.renew(time.Now().Add(time.Hour), 0); err != nil || h.all()["a"] != "b" {
		t.Errorf("%v, %v", h.all(), err)
	}
}
