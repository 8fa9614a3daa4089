package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/internal/hostile"
)

// seed gives the fuzzer all stored files of one name.
func seed(f *testing.F, name string) {
	files, err := filepath.Glob(stored.Root + "/*/" + name)
	if err != nil || len(files) == 0 {
		f.Fatalf("no stored %s: %v", name, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// hostileText is the length of long texts.
const hostileText = 256 << 10

func FuzzMaps(f *testing.F) {
	seed(f, "maps")
	for text := range hostile.Lines(hostileText, "55550000-5555f000 rw-p 00000000 08:01 1234 /usr/lib/libc.so.6") {
		f.Add([]byte(text))
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, data []byte) {
		count := 0
		for m, err := range parseMaps(bytes.NewReader(data)) {
			if err != nil {
				if m != (Mapping{}) {
					t.Errorf("half a mapping with %v", err)
				}
				break
			}
			count++
			if m.End <= m.Start || m.Deleted && m.File.Inode == 0 || strings.Contains(m.Path, "\n") {
				t.Errorf("impossible mapping %+v", m)
			}
		}
		if lines := bytes.Count(data, []byte("\n")) + 1; count > lines {
			t.Errorf("%d mappings in %d lines", count, lines)
		}
	})
}

func FuzzStat(f *testing.F) {
	seed(f, "stat")
	for text := range hostile.Lines(hostileText, "7 (python3) S 1 7 7 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 99 1 2 3") {
		f.Add([]byte(text))
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, data []byte) {
		st, ok := parseStat(data)
		if !ok {
			return
		}
		if st.PID <= 0 || st.ParentPID < 0 {
			t.Errorf("impossible stat %+v", st)
		}
		// Whatever the name, the numbers stay the same.
		renamed := bytes.Replace(data, []byte(st.Comm), []byte(st.Comm+") S 1 (\n"), 1)
		if i := bytes.IndexByte(data, '('); st.Comm != "" && bytes.Index(data, []byte(st.Comm)) == i+1 {
			again, ok := parseStat(renamed)
			again.Comm = st.Comm
			if !ok || again != st {
				t.Errorf("%+v became %+v with another name", st, again)
			}
		}
	})
}

func FuzzStatus(f *testing.F) {
	seed(f, "status")
	for text := range hostile.Lines(hostileText, "NSpid: 7 8 9") {
		f.Add([]byte("Pid:\t7\nTgid:\t7\n" + text))
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, data []byte) {
		st, ok := parseStatus(data)
		if !ok {
			return
		}
		if st.PID <= 0 || st.TGID < 0 || st.Threads < 0 || st.ResidentBytes < 0 || st.DataBytes < 0 ||
			len(st.NSPIDs) > 33 {
			t.Errorf("impossible status %+v", st)
		}
	})
}
