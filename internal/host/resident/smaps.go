package resident

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// mapping is an entry of smaps. Sizes are in bytes.
type mapping struct {
	start, end uint64
	name       string // "", [heap], [stack], or named for all others, as a process chooses the names of its files
	file       bool   // pages of a file
	shared     bool   // memory that other processes may share
	writable   bool
	resident   uint64
	anonymous  uint64 // the part of resident that is no page of a file
}

// Limits for reading smaps.
const (
	maxMappings = 1 << 18
	maxSmaps    = 256 << 20 // bytes
	maxLine     = 64 << 10  // bytes
	linesToLook = 512       // lines between two looks at the time
)

var (
	errSmaps = errors.New("too many mappings")
	errLong  = errors.New("its mappings take too long to read")
)

const named = "[…]"

// readSmaps reads /proc/PID/smaps (proc_pid_smaps(5)). It fails once over returns true.
func readSmaps(r io.Reader, over func() bool) (mappings []mapping, err error) {
	lines := bufio.NewScanner(io.LimitReader(r, maxSmaps))
	lines.Buffer(make([]byte, 0, 8<<10), maxLine)
	for n := 1; lines.Scan(); n++ {
		if n%linesToLook == 0 && over() {
			return nil, errLong
		}
		line := lines.Text()
		if m, ok := parseHead(line); ok {
			if len(mappings) == maxMappings {
				return nil, errSmaps
			}
			mappings = append(mappings, m)
			continue
		}
		if len(mappings) == 0 {
			return nil, fmt.Errorf("line %q: %w", line[:min(len(line), 80)], io.ErrUnexpectedEOF)
		}
		last := &mappings[len(mappings)-1]
		name, rest, _ := strings.Cut(line, ":")
		switch name {
		case "Rss":
			last.resident = min(kilobytes(rest), last.end-last.start)
		case "Anonymous":
			last.anonymous = kilobytes(rest)
		}
	}
	for i := range mappings {
		mappings[i].anonymous = min(mappings[i].anonymous, mappings[i].resident)
	}
	return mappings, lines.Err()
}

// parseHead parses the first line of a mapping: start-end perms offset device inode name.
func parseHead(line string) (m mapping, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 5 || len(fields[1]) != 4 {
		return m, false
	}
	from, to, ok := strings.Cut(fields[0], "-")
	if !ok {
		return m, false
	}
	var errs [2]error
	m.start, errs[0] = strconv.ParseUint(from, 16, 64)
	m.end, errs[1] = strconv.ParseUint(to, 16, 64)
	if errs[0] != nil || errs[1] != nil || m.end < m.start {
		return m, false
	}
	m.writable, m.shared = fields[1][1] == 'w', fields[1][3] == 's'
	m.file = fields[4] != "0"
	if len(fields) > 5 {
		switch m.name = named; fields[5] {
		case "[heap]", "[stack]":
			m.name = strings.Clone(fields[5])
		}
	}
	// A shared mapping of a file counts as a file. Shared memory without a file has a name in /dev, and so has memory
	// of devices.
	if m.shared && m.file && len(fields) > 5 && strings.HasPrefix(fields[5], "/") &&
		!strings.HasPrefix(fields[5], "/dev/") {
		m.shared = false
	}
	// In a private mapping of shared memory, pages that the process has not written to are shared.
	for _, prefix := range []string{"/memfd:", "/dev/shm/", "/SYSV"} {
		m.shared = m.shared || len(fields) > 5 && strings.HasPrefix(fields[5], prefix)
	}
	return m, true
}

// kilobytes returns the bytes of a size such as "   132 kB"; 0 for another text.
func kilobytes(s string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(s), " kB"), 10, 50)
	if err != nil {
		return 0
	}
	return n << 10
}
