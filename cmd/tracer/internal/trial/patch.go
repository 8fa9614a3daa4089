package trial

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Bounds on a patch.
const (
	maxPatch = 16 << 20 // bytes
	maxHunks = 10_000
)

// hunk is one change of a unified diff.
type hunk struct {
	file     string // in the line "+++ ", or in "--- " where that is /dev/null
	at       int    // the first of the old lines, from 1; 0 if there are none
	old, new []string
}

var hunkHead = regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@`)

// parsePatch reads a unified diff. Lines keep their ends.
func parsePatch(text string) (all []hunk, err error) {
	lines := strings.SplitAfter(text, "\n")
	file := ""
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], "\r\n")
		head := hunkHead.FindStringSubmatch(line)
		switch {
		case head != nil:
			if len(all) == maxHunks {
				return nil, fmt.Errorf("it has more than %d changes", maxHunks)
			}
			h := hunk{file: file}
			h.at, _ = strconv.Atoi(head[1])
			rest, err := h.read(lines[i+1:], count(head[2]), count(head[3]))
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			all = append(all, h)
			i = len(lines) - len(rest) - 1
		case strings.HasPrefix(line, "--- "):
			file = label(line)
		case strings.HasPrefix(line, "+++ ") && label(line) != "/dev/null":
			file = label(line)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("it is no unified diff: there is no line that begins with @@ (diff -u makes one)")
	}
	return all, nil
}

func count(text string) int {
	if text == "" {
		return 1
	}
	n, _ := strconv.Atoi(text)
	return n
}

// label returns the name in a line "--- NAME", without a/, b/ and a time.
func label(line string) string {
	name, _, _ := strings.Cut(line[4:], "\t")
	name = strings.TrimSpace(name)
	for _, prefix := range []string{"a/", "b/"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

// read takes the lines of a hunk, and returns the lines behind it.
func (h *hunk) read(lines []string, old, new int) ([]string, error) {
	for i, line := range lines {
		if len(h.old) == old && len(h.new) == new && !strings.HasPrefix(line, `\`) {
			return lines[i:], nil
		}
		body := ""
		if line != "" {
			body = line[1:]
		}
		switch {
		case line == "" && i == len(lines)-1: // behind the last newline
		case strings.HasPrefix(line, " "), line == "\n", line == "\r\n":
			if body == "" {
				body = line // an editor has taken the space of an empty line
			}
			h.old, h.new = append(h.old, body), append(h.new, body)
		case strings.HasPrefix(line, "-"):
			h.old = append(h.old, body)
		case strings.HasPrefix(line, "+"):
			h.new = append(h.new, body)
		case strings.HasPrefix(line, `\`): // no newline at the end of the line before
			h.noNewline(lines[max(0, i-1)])
		default:
			return nil, errors.New("its number of lines is not the one in the line that begins with @@")
		}
	}
	if len(h.old) == old && len(h.new) == new {
		return nil, nil
	}
	return nil, errors.New("it ends within a change")
}

func (h *hunk) noNewline(before string) {
	if !strings.HasPrefix(before, "+") && len(h.old) > 0 {
		h.old[len(h.old)-1] = strings.TrimRight(h.old[len(h.old)-1], "\r\n")
	}
	if !strings.HasPrefix(before, "-") && len(h.new) > 0 {
		h.new[len(h.new)-1] = strings.TrimRight(h.new[len(h.new)-1], "\r\n")
	}
}

// cellLabel matches the name of a cell in a diff: In[3], cell 3.
var cellLabel = regexp.MustCompile(`(?i)^(?:In ?\[(\d{1,9})\]|cell (\d{1,9})$)`)

// Patched applies a unified diff. The diff's files are the notebook's file, or cells: "--- In[3]" is the third cell
// with code. A file with any other name stands for the cell that has the diff's old lines.
func (n *Notebook) Patched(text []byte) (*Notebook, error) {
	if len(text) > maxPatch {
		return nil, fmt.Errorf("it has more than %d MiB", maxPatch>>20)
	}
	hunks, err := parsePatch(string(text))
	if err != nil {
		return nil, err
	}
	if n.isOfFile(hunks[0].file) {
		whole, err := applied(string(n.Text), hunks)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Name, err)
		}
		return Read(n.Name, []byte(whole))
	}
	of := map[int][]hunk{}
	for _, h := range hunks {
		cell, err := n.cellOf(&h)
		if err != nil {
			return nil, err
		}
		of[cell] = append(of[cell], h)
	}
	changed := map[int]string{}
	for cell, hunks := range of {
		if changed[cell], err = applied(n.Cells[cell].Source, hunks); err != nil {
			return nil, fmt.Errorf("cell %d: %w", cell+1, err)
		}
	}
	return n.With(changed)
}

// isOfFile reports whether a diff is of the notebook's file, and not of cells.
func (n *Notebook) isOfFile(label string) bool {
	return filepath.Base(label) == n.Name || n.file == nil && !cellLabel.MatchString(label) ||
		strings.HasSuffix(label, ".ipynb")
}

// cellOf returns the index of the cell that a change is about.
func (n *Notebook) cellOf(h *hunk) (int, error) {
	if found := cellLabel.FindStringSubmatch(h.file); found != nil {
		number, _ := strconv.Atoi(found[1] + found[2])
		if number < 1 || number > len(n.Cells) {
			return 0, fmt.Errorf("it changes %.40q, and the notebook has %d cells with code", h.file, len(n.Cells))
		}
		return number - 1, nil
	}
	at := -1
	for i := range n.Cells {
		if _, err := applied(n.Cells[i].Source, []hunk{*h}); err == nil {
			if at >= 0 {
				return 0, fmt.Errorf("the lines at %d of %.80q are in the cells %d and %d; "+
					"name the one that is meant: --- In[%d]", h.at, h.file, at+1, i+1, i+1)
			}
			at = i
		}
	}
	if at < 0 {
		return 0, fmt.Errorf("no cell has the lines at %d of %.80q", h.at, h.file)
	}
	return at, nil
}

// applied replaces the old lines of changes by the new ones. Old lines may have moved, but must be unchanged.
func applied(text string, hunks []hunk) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var out []string
	from, moved := 0, 0
	for i := range hunks {
		h := &hunks[i]
		at := find(lines, h.old, from, max(from, h.at-1+moved))
		if len(h.old) == 0 {
			at = min(max(from, h.at), len(lines)) // the line behind which the new lines go
		}
		if at < 0 {
			return "", fmt.Errorf("the lines that the change at line %d replaces are not there", h.at)
		}
		moved = at - (h.at - 1)
		out = append(append(out, lines[from:at]...), h.new...)
		from = at + len(h.old)
	}
	out = append(out, lines[from:]...)
	for i := range out[:max(0, len(out)-1)] { // the last line of a cell has no newline
		if !strings.HasSuffix(out[i], "\n") {
			out[i] += "\n"
		}
	}
	whole := strings.Join(out, "")
	if !strings.HasSuffix(text, "\n") {
		whole = strings.TrimSuffix(whole, "\n")
	}
	return whole, nil
}

// find returns the place of lines that is nearest to the expected place; -1 if the lines are nowhere behind a given
// place.
func find(lines, old []string, from, expected int) int {
	for far := 0; far <= len(lines); far++ {
		for _, at := range []int{expected - far, expected + far} {
			if at >= from && at+len(old) <= len(lines) && same(lines[at:at+len(old)], old) {
				return at
			}
		}
	}
	return -1
}

// same compares lines without their line ends: the last line of a cell has none.
func same(a, b []string) bool {
	return slices.EqualFunc(a, b, func(one, other string) bool {
		return strings.TrimRight(one, "\r\n") == strings.TrimRight(other, "\r\n")
	})
}
