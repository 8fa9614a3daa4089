package main

import (
	"os"
	"strings"
	"testing"
)

// TestVersion: the parts that are installed on their own have the version in the file VERSION.
func TestVersion(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	is := strings.TrimSpace(read("VERSION"))
	if is == "" {
		t.Fatal("VERSION is empty")
	}
	for name, line := range map[string]string{
		"cmd/tracer/main.go":                     "var version = \"" + is + "-dev\"\n",
		"python/pyproject.toml":                  "\nversion = \"" + is + "\"\n",
		"python/src/ipytracer/__init__.py":       "\n__version__ = \"" + is + "\"\n",
		"deploy/helm/ipytracer-agent/Chart.yaml": "\nappVersion: " + is + "\n",
		"CHANGELOG.md":                           "\n## " + is + "\n",
	} {
		if !strings.Contains(read(name), line) {
			t.Errorf("%s has no line %q", name, strings.TrimSpace(line))
		}
	}
}
