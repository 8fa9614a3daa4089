package reporttest

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// Golden fails the test if data differs from a file in testdata/report. With -update it writes the file instead.
func Golden(t testing.TB, name string, data []byte) {
	t.Helper()
	path := filepath.Join(root(t), "testdata", "report", name)
	if *update {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, want) {
		t.Errorf("%s differs (go test ./report -update rewrites it); got:\n%s", name, data)
	}
}

// root returns the module's folder.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			t.Fatal("this is no folder of the module")
		}
		dir = above
	}
}

// CompletePage reports whether the certificate on a page is complete.
func CompletePage(t testing.TB, page []byte) bool {
	t.Helper()
	_, rest, _ := strings.Cut(string(page), `<script type="application/json" id="data">`)
	text, _, _ := strings.Cut(rest, "</script>")
	var data struct {
		Proof *struct{ Complete bool }
	}
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		t.Fatal(err)
	}
	if data.Proof == nil {
		t.Fatal("the page has no certificate")
	}
	return data.Proof.Complete
}

// CheckSafe fails the test if a text has invisible characters, or characters that a terminal could act on. Those in
// allowed may be in it.
func CheckSafe(t testing.TB, text, allowed string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("not UTF-8: %q", text)
	}
	for _, r := range text {
		if strings.ContainsRune(allowed, r) {
			continue
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			t.Errorf("%U in %q", r, text)
			return
		}
	}
}
