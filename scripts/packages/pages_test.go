package main

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var link = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)

// TestPagesAreReachable: links lead from docs/README.md to every page of docs, by way of other pages or at once, and
// each leads to a file.
func TestPagesAreReachable(t *testing.T) {
	reached := map[string]bool{}
	for next := []string{"docs/README.md"}; len(next) > 0; next = next[1:] {
		page := next[0]
		if reached[page] {
			continue
		}
		reached[page] = true
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(quoted.ReplaceAllString(string(text), ""), -1) {
			to := path.Join(path.Dir(page), m[1])
			if !exists(to) {
				t.Errorf("%s links to %s, which does not exist", page, m[1])
			} else if strings.HasSuffix(to, ".md") {
				next = append(next, to)
			}
		}
	}
	all := tracked(t, "docs/*.md")
	for _, page := range all {
		if !reached[page] {
			t.Errorf("no link leads to %s from docs/README.md", page)
		}
	}
	if len(all) < 50 {
		t.Errorf("%d pages", len(all))
	}
}
