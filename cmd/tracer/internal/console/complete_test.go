package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ipytracer/attribution"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// TestAgreeOnComplete: JSON, the texts, Markdown, the page and --strict agree on whether a session's figures are
// complete, and why not. A meter that was paused makes them incomplete, so a certificate is never complete beside a
// lower bound.
func TestAgreeOnComplete(t *testing.T) {
	complete, shed := 0, 0
	for seed := range uint64(80) {
		tracker := attribution.New()
		attributiontest.Anything(tracker.Add, seed, 5+int(seed)*7)
		r := tracker.Report()
		agreesOnComplete(t, fmt.Sprint("seed ", seed), r)
		if r.Certificate.Complete {
			complete++
		}
		for _, p := range r.Certificate.Meters {
			if !p.Paused || words.IsPart(p.ID) {
				continue
			}
			shed++
			if r.Certificate.Complete || !slices.Contains(r.Certificate.Incomplete, words.MeterPaused(p.ID)) {
				t.Errorf("seed %d: %s was stepped down, complete: %v, incomplete: %q",
					seed, p.ID, r.Certificate.Complete, r.Certificate.Incomplete)
			}
		}
	}
	for name, made := range reporttest.Reports {
		agreesOnComplete(t, name, made())
	}
	if complete < 3 || shed < 20 {
		t.Errorf("%d sessions are complete, %d meters were stepped down", complete, shed)
	}
}

func agreesOnComplete(t *testing.T, what string, r *model.Report) {
	t.Helper()
	c := &r.Certificate
	var said struct {
		Certificate struct {
			Complete   bool     `json:"complete"`
			Incomplete []string `json:"incomplete"`
		} `json:"certificate"`
	}
	if err := json.Unmarshal(printed(t, r, Options{Format: "json"}), &said); err != nil {
		t.Fatal(err)
	}
	page := reporttest.CompletePage(t, printed(t, r, Options{Format: "html"}))
	short, full := string(printed(t, r, Options{Format: "text"})),
		string(printed(t, r, Options{Format: "text", Full: true}))
	for where, is := range map[string]bool{
		"JSON": said.Certificate.Complete, "the page": page,
		"the text":       strings.Contains(short, "Certificate: complete"),
		"the whole text": strings.Contains(full, "✓ complete: "),
		"Markdown": !strings.Contains(string(printed(t, r, Options{Format: "markdown"})),
			"**Not complete.**"),
		"no reason": len(c.Incomplete) == 0 && c.Made > 0 || c.Complete,
	} {
		if is != c.Complete {
			t.Errorf("%s: complete is %v, but in %s %v", what, c.Complete, where, is)
		}
	}
	if strings.Contains(short, "Certificate: not complete") == c.Complete ||
		strings.Contains(full, "✗ not complete: ") == c.Complete {
		t.Errorf("%s: complete is %v, and a text says both:\n%s", what, c.Complete, short)
	}
	if !slices.Equal(said.Certificate.Incomplete, c.Incomplete) {
		t.Errorf("%s: %q in JSON", what, said.Certificate.Incomplete)
	}
	if _, err := (Strictness{Figures: true}).Judge(r); !c.Complete && err == nil {
		t.Errorf("%s: it is not complete, and --strict says nothing", what)
	}
}

func printed(t *testing.T, r *model.Report, o Options) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := o.Print(&out, r, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
