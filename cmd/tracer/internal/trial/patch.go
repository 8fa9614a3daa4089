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
	file     string   // the name in the line "+++ ", or in "--- " if that one is /dev/null
	at       int      // the number of the first old line, from 1; 0 for new lines at the beginning
	old, new []string // lines before and after the change, with the unchanged ones around it
}

var hunkHead = regexp.MustCompile(`^@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@`)

// parsePatch reads a unified diff. Lines keep their line ends.
func parsePatch(text string) (hunks []hunk, err error) {
	lines := strings.SplitAfter(text, "\n")
	file := ""
	for i := 0; i < len(lines); i++ {
		line := strings.TrimRight(lines[i], "\r\n")
		head := hunkHead.FindStringSubmatch(line)
		switch {
		case head != nil:
			if len(hunks) == maxHunks {
				return nil, fmt.Errorf("it has more than %d changes", maxHunks)
			}
			h := hunk{file: file}
			h.at, _ = strconv.Atoi(head[1])
			rest, err := h.read(lines[i+1:], lineCount(head[2]), lineCount(head[3]))
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			hunks = append(hunks, h)
			i = len(lines) - len(rest) - 1
		case strings.HasPrefix(line, "--- "):
			file = fileLabel(line)
		case strings.HasPrefix(line, "+++ ") && fileLabel(line) != "/dev/null":
			file = fileLabel(line)
		}
	}
	if len(hunks) == 0 {
		return nil, errors.New("it is no unified diff: there is no line that begins with @@ (diff -u makes one)")
	}
	return hunks, nil
}

// lineCount reads the optional number of lines in a hunk's head, which is 1 if it is left out.
func lineCount(text string) int {
	if text == "" {
		return 1
	}
	n, _ := strconv.Atoi(text)
	return n
}

// fileLabel returns the name in a line "--- NAME", without a/, b/ and a time.
func fileLabel(line string) string {
	name, _, _ := strings.Cut(line[4:], "\t")
	name = strings.TrimSpace(name)
	for _, prefix := range []string{"a/", "b/"} {
		name = strings.TrimPrefix(name, prefix)
	}
	return name
}

// read reads the hunk's lines, of which old and new are announced, and returns the lines behind the hunk.
func (h *hunk) read(lines []string, old, new int) ([]string, error) {
	isComplete := func() bool { return len(h.old) == old && len(h.new) == new }
	for i, line := range lines {
		if isComplete() && !strings.HasPrefix(line, `\`) {
			return lines[i:], nil
		}
		isEmptyContext := line == "\n" || line == "\r\n" // an editor has removed the space
		switch {
		case line == "" && i == len(lines)-1: // behind the last newline
		case isEmptyContext:
			h.old, h.new = append(h.old, line), append(h.new, line)
		case strings.HasPrefix(line, " "):
			h.old, h.new = append(h.old, line[1:]), append(h.new, line[1:])
		case strings.HasPrefix(line, "-"):
			h.old = append(h.old, line[1:])
		case strings.HasPrefix(line, "+"):
			h.new = append(h.new, line[1:])
		case strings.HasPrefix(line, `\`): // no newline at the end of the line before
			h.noNewline(lines[max(0, i-1)])
		default:
			return nil, errors.New("its number of lines is not the one in the line that begins with @@")
		}
	}
	if isComplete() {
		return nil, nil
	}
	return nil, errors.New("it ends within a change")
}

// noNewline removes the newline of the hunk's last line, for which `\ No newline at end of file` stands behind it.
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
	if n.isFilePatch(hunks[0].file) {
		whole, err := applyHunks(string(n.Text), hunks)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.Name, err)
		}
		return Read(n.Name, []byte(whole))
	}
	hunksByCell := map[int][]hunk{}
	for _, h := range hunks {
		cell, err := n.cellOfHunk(&h)
		if err != nil {
			return nil, err
		}
		hunksByCell[cell] = append(hunksByCell[cell], h)
	}
	changed := map[int]string{}
	for cell, hunks := range hunksByCell {
		if changed[cell], err = applyHunks(n.Cells[cell].Source, hunks); err != nil {
			return nil, fmt.Errorf("cell %d: %w", cell+1, err)
		}
	}
	return n.With(changed)
}

// isFilePatch reports whether a diff changes the notebook's file. Otherwise it changes the sources of cells.
func (n *Notebook) isFilePatch(label string) bool {
	if filepath.Base(label) == n.Name || strings.HasSuffix(label, ".ipynb") {
		return true
	}
	isScript := n.file == nil
	return isScript && !cellLabel.MatchString(label)
}

// cellOfHunk returns the index of the cell that a hunk changes: the named one, else the only one with the old lines.
func (n *Notebook) cellOfHunk(h *hunk) (int, error) {
	if found := cellLabel.FindStringSubmatch(h.file); found != nil {
		number, _ := strconv.Atoi(found[1] + found[2])
		if number < 1 || number > len(n.Cells) {
			return 0, fmt.Errorf("it changes %.40q, and the notebook has %d cells with code", h.file, len(n.Cells))
		}
		return number - 1, nil
	}
	at := -1
	for i := range n.Cells {
		if _, err := applyHunks(n.Cells[i].Source, []hunk{*h}); err == nil {
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

// applyHunks replaces each hunk's old lines by its new ones. The old lines may be elsewhere than the hunk says, but
// only behind those of the hunk before.
func applyHunks(text string, hunks []hunk) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var out []string
	done, moved := 0, 0 // lines that are copied or replaced; by how many lines the last hunk was off
	for i := range hunks {
		h := &hunks[i]
		at := findLines(lines, h.old, done, max(done, h.at-1+moved))
		if len(h.old) == 0 {
			at = min(max(done, h.at), len(lines)) // the line behind which the new lines go
		}
		if at < 0 {
			return "", fmt.Errorf("the lines that the change at line %d replaces are not there", h.at)
		}
		moved = at - (h.at - 1)
		out = append(append(out, lines[done:at]...), h.new...)
		done = at + len(h.old)
	}
	out = append(out, lines[done:]...)
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

// findLines returns the index in lines, nearest to the expected one and at least lowest, at which old begins; -1 if
// there is none.
func findLines(lines, old []string, lowest, expected int) int {
	for offset := 0; offset <= len(lines); offset++ {
		for _, at := range []int{expected - offset, expected + offset} {
			if at >= lowest && at+len(old) <= len(lines) && sameLines(lines[at:at+len(old)], old) {
				return at
			}
		}
	}
	return -1
}

// sameLines compares lines without their line ends: the last line of a cell has none.
func sameLines(a, b []string) bool {
	return slices.EqualFunc(a, b, func(lineA, lineB string) bool {
		return strings.TrimRight(lineA, "\r\n") == strings.TrimRight(lineB, "\r\n")
	})
}
