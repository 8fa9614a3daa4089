package reporttest

import (
	"encoding/json"
	"strings"
	"testing"
)

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
