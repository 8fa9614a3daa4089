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
	library    string // the name of an allocator's library, without its folder
	unlinked   string // a file in /dev/shm, or one that is deleted, as stemOf has it; "" for others
	swapped    uint64
	huge       uint64 // in huge pages of hugetlbfs, which are not resident memory
	anonymous  uint64 // the part of resident that is no page of a file
}

// private reports whether a mapping is memory that an allocator may have mapped, and has resident pages.
func (m mapping) private() bool {
	return !m.file && !m.shared && m.writable && m.name != "[stack]" && m.resident > 0
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
		case "Swap":
			last.swapped = min(kilobytes(rest), last.end-last.start)
		case "Private_Hugetlb", "Shared_Hugetlb":
			last.huge = min(last.huge+kilobytes(rest), last.end-last.start)
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
		m.library = libraryOf(fields[5])
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
	if m.file && len(fields) > 5 {
		m.unlinked = stemOf(line[strings.Index(line, fields[5]):])
	}
	return m, true
}

// stemOf returns the path of a mapped file without what differs between files of one origin: "/dev/shm/torch_…
// (deleted)". It returns "" for files outside of /dev/shm that still have a name, and for files that never had one. The
// path is hostile.
func stemOf(path string) string {
	const most = 32 // bytes of a file's name
	path, deleted := strings.CutSuffix(path, " (deleted)")
	name, inShared := strings.CutPrefix(path, "/dev/shm/")
	if !inShared && (!deleted || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/memfd:") ||
		strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/SYSV")) {
		return ""
	}
	folder := "/dev/shm/"
	if !inShared {
		i := strings.LastIndexByte(path, '/') + 1
		if folder, name = path[:i], path[i:]; folder != "/tmp/" && folder != "/var/tmp/" {
			folder = "…/"
		}
	}
	letters := len(name) - len(strings.TrimLeft(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz"))
	letters = min(letters, most)
	if letters < len(name) && strings.ContainsRune("_.-", rune(name[letters])) {
		letters++
	}
	stem := folder + name[:letters]
	if letters < len(name) {
		stem += "…"
	}
	if deleted {
		stem += " (deleted)"
	}
	return stem
}

// libraries are the beginnings of the names of allocators' libraries.
var libraries = map[string]Kind{"libjemalloc": JemallocFree, "libmimalloc": MimallocFree}

// libraryOf returns the name of an allocator's library, given its path; "" for other files, and names that are not
// safe in code.
func libraryOf(path string) string {
	const most = 64
	name := path[strings.LastIndexByte(path, '/')+1:]
	for prefix := range libraries {
		unsafe := strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz0123456789._+-") != ""
		if strings.HasPrefix(name, prefix) && len(name) <= most && !unsafe {
			return strings.Clone(name)
		}
	}
	return ""
}

// kilobytes returns the bytes of a size such as "   132 kB"; 0 for another text.
func kilobytes(s string) uint64 {
	n, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(s), " kB"), 10, 50)
	if err != nil {
		return 0
	}
	return n << 10
}
