package main

import (
	"strings"
	"testing"
)

// TestDocument: an entry has the purpose and the libraries by short names, each once, and nothing of this module or of
// the standard library.
func TestDocument(t *testing.T) {
	text, err := document(map[string]*goPackage{
		"attribution": {"attribution", "Package attribution turns events into a | b.",
			[]string{"ipytracer/model", "fmt", "golang.org/x/sys/unix", "ipytracer/event", "golang.org/x/sys/unix"}},
		"bench/made": {"bench/made", "Made writes recordings.", []string{"os"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "short names.\n\n- `attribution`: turns events into a | b (`unix`)\n- `bench/made`: writes recordings\n"
	if !strings.HasSuffix(string(text), want) {
		t.Errorf("got %s, want %s at its end", text, want)
	}
}

// TestFaults: the page is not made of a package without a comment, with an unknown library, or against a layer.
func TestFaults(t *testing.T) {
	for name, p := range map[string]*goPackage{
		"has no comment":          {"a", "", nil},
		"no short name":           {"a", "Package a is one.", []string{"example.org/other"}},
		"event must not import":   {"event", "Package event is one.", []string{"ipytracer/model"}},
		"model must not import":   {"model", "Package model is one.", []string{"ipytracer/event"}},
		"must not import os:":     {"attribution/internal/audit", "Package audit is one.", []string{"os"}},
		"must not import os/exec": {"internal/advice", "Package advice is one.", []string{"os/exec"}},
		"must not import ipytracer/tracer": {"internal/report/text", "Package text is one.",
			[]string{"ipytracer/tracer"}},
		"must not import ipytracer/cmd/a": {"tracer", "Package tracer is one.", []string{"ipytracer/cmd/a"}},
		"must not import ipytracer/event: it": {"internal/syntax", "Package syntax is one.",
			[]string{"ipytracer/event"}},
	} {
		_, err := document(map[string]*goPackage{p.ImportPath: p})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, p := range []*goPackage{
		{"event/recording", "Package recording is one.", []string{"os", "ipytracer/event"}},
		{"internal/code/elffile/elftest", "Package elftest is one.",
			[]string{"ipytracer/internal/python/cpython"}},
		{"eventful", "Package eventful is one.", []string{"ipytracer/model"}},
	} {
		if _, err := document(map[string]*goPackage{p.ImportPath: p}); err != nil {
			t.Error(err)
		}
	}
}
