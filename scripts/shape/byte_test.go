package main

import (
	"bytes"
	"os"
	"path"
	"regexp"
	"testing"
)

// step is a line of the list in docs/follow-one-byte.md.
type step struct{ function, file, handsOn string }

var stepLine = regexp.MustCompile("(?m)^\\d+\\. `(\\w+)` in `([\\w./]+)`(?:: (.+))?$")

// TestByteGoesItsWay: every function of the page on one byte is where the page says, and calls the next one, unless
// it hands the byte on by other means. The way has at most 25 files and six forms.
func TestByteGoesItsWay(t *testing.T) {
	page, err := os.ReadFile("../../docs/follow-one-byte.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := stepsOf(page)
	files := map[string]bool{}
	for i, s := range steps {
		files[s.file] = true
		code := bodyOf(t, s)
		if code == "" {
			t.Errorf("%s is not in %s", s.function, s.file)
		}
		if i+1 < len(steps) && s.handsOn == "" && !calls(code, steps[i+1].function) {
			t.Errorf("%s in %s does not call %s", s.function, s.file, steps[i+1].function)
		}
	}
	if len(steps) < 30 || len(files) > 25 {
		t.Errorf("%d steps in %d files", len(steps), len(files))
	}
	if forms := regexp.MustCompile(`(?m)^\| \d \|`).FindAll(page, -1); len(forms) != 6 {
		t.Errorf("%d forms", len(forms))
	}
}

// calls reports whether code has a call of a function by name.
func calls(code, function string) bool {
	return regexp.MustCompile(`\b` + function + `\(`).MatchString(code)
}

func stepsOf(page []byte) (steps []step) {
	for _, m := range stepLine.FindAllStringSubmatch(string(page), -1) {
		steps = append(steps, step{m[1], m[2], m[3]})
	}
	return steps
}

// bodyOf returns the definition of a step's function, behind its name, or "". A definition begins at the left margin
// and ends with a brace there.
func bodyOf(t *testing.T, s step) string {
	t.Helper()
	code, err := os.ReadFile("../../" + s.file)
	if err != nil {
		t.Error(err)
		return ""
	}
	begin := `(?m)^[^\s#/].*\b` + s.function + `\(`
	if path.Ext(s.file) == ".go" {
		begin = `(?m)^func (\([^)]*\) )?` + s.function + `\(`
	}
	for _, at := range regexp.MustCompile(begin).FindAllIndex(code, -1) {
		body := code[at[1]:]
		brace, semicolon := bytes.IndexByte(body, '{'), bytes.IndexByte(body, ';')
		if brace < 0 || semicolon >= 0 && semicolon < brace && path.Ext(s.file) != ".go" {
			continue // a declaration
		}
		if line, _, _ := bytes.Cut(body, []byte("\n")); bytes.HasSuffix(line, []byte("}")) {
			return string(line)
		}
		body, _, _ = bytes.Cut(body, []byte("\n}\n"))
		return string(body)
	}
	return ""
}
