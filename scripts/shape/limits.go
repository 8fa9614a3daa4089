package main

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// widest is the limit of a line in columns. The figure for columns is the number of wider lines in a folder, or in a
// file with an exception.
const widest = 120

// limits are the content of limits.txt.
type limits struct {
	most       map[kind]int                  // the limits
	exceptions map[kind]map[string]exception // by owner of the figure
}

// exception allows one figure that is over its limit, for a reason.
type exception struct {
	figure int
	why    string
}

// readLimits reads lines KIND WHERE FIGURE REASON. A line whose WHERE is * has the limit of a kind, and each kind must
// have one. Any other line is an exception for the owner WHERE. Lines that begin with # are comments.
func readLimits(r io.Reader) (*limits, error) {
	l := &limits{most: map[kind]int{}, exceptions: map[kind]map[string]exception{}}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		if err := l.add(strings.Fields(text)); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if len(l.most) != len(allKinds) {
		return nil, fmt.Errorf("a limit is missing: it has %d", len(l.most))
	}
	return l, lines.Err()
}

// add adds the words of one line.
func (l *limits) add(words []string) error {
	if len(words) < 3 {
		return fmt.Errorf("KIND WHERE FIGURE REASON are wanted, it has %q", strings.Join(words, " "))
	}
	k, where := kind(words[0]), words[1]
	if !slices.Contains(allKinds, k) {
		return fmt.Errorf("%q is no kind of limit", k)
	}
	figure, err := strconv.Atoi(words[2])
	if err != nil || figure < 0 {
		return fmt.Errorf("%q is no figure", words[2])
	}
	if where == "*" {
		l.most[k] = figure
		return nil
	}
	if len(words) == 3 {
		return fmt.Errorf("%s of %s has no reason", k, where)
	}
	if l.exceptions[k] == nil {
		l.exceptions[k] = map[string]exception{}
	}
	if _, twice := l.exceptions[k][where]; twice {
		return fmt.Errorf("%s of %s is there twice", k, where)
	}
	l.exceptions[k][where] = exception{figure: figure, why: strings.Join(words[3:], " ")}
	return nil
}

// judge returns complaints about figures over their limits, and about exceptions that could be lower or are not needed.
func (l *limits) judge(m *measures) (complaints []string) {
	m = m.byFolder(l.exceptions[columns])
	for _, k := range slices.Sorted(maps.Keys(m.figures)) {
		for _, where := range slices.Sorted(maps.Keys(m.figures[k])) {
			figure, e := m.figures[k][where], l.exceptions[k][where]
			most := max(l.most[k], e.figure)
			switch {
			case figure > most:
				complaints = append(complaints,
					fmt.Sprintf("%s: %s is %d, and may be %d%s", where, k, figure, most, m.hint(k, where)))
			case e.figure > figure:
				complaints = append(complaints,
					fmt.Sprintf("%s: %s is %d now: lower its exception of %d, or take it out", where, k, figure,
						e.figure))
			case e.figure > 0 && e.figure <= l.most[k]:
				complaints = append(complaints, fmt.Sprintf("%s: %s is %d, and needs no exception", where, k, figure))
			}
		}
		for _, where := range slices.Sorted(maps.Keys(l.exceptions[k])) {
			if _, is := m.figures[k][where]; !is {
				complaints = append(complaints, fmt.Sprintf("%s: %s has an exception, and is not there", where, k))
			}
		}
	}
	return complaints
}

// hint returns the end of a complaint, with the places that cause the figure.
func (m *measures) hint(k kind, where string) string {
	switch k {
	case columns:
	case arrows:
		return " of 100 that lead up in the best order of its files that was found:\n\t" +
			strings.Join(m.up[where], "\n\t")
	case shortFiles:
		return " of under 30 lines that one other file uses: " + strings.Join(m.short[where], ", ")
	default:
		return ""
	}
	return fmt.Sprintf(" lines of over %d columns; the last one is %s", widest, m.last[where])
}
