package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// fakeProcess builds a proc file system with process 7, which maps the file at the path inside its own root. The file
// of the result is where that root really is.
func fakeProcess(t *testing.T, path string) (fs FS, m Mapping, rootDir string) {
	t.Helper()
	fs = FS{Root: t.TempDir()}
	rootDir = t.TempDir()
	write(t, filepath.Join(rootDir, path), "the file")
	symlink(t, rootDir, fs.Proc(7).path("root"))
	m = Mapping{Start: 0x1000, End: 0x2000, Perm: Read | Exec, Path: path,
		File: fileID(t, filepath.Join(rootDir, path))}
	write(t, fs.Proc(7).path("stat"), "7 (x) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 5 0 1 0")
	id := m.File
	write(t, fs.Proc(7).path("maps"), fmt.Sprintf("1000-2000 r-xp 00000000 %x:%x %d %s\n", id.Major, id.Minor, id.Inode,
		path))
	return fs, m, rootDir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func fileID(t *testing.T, name string) FileID {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	id, err := mappedID(f)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestOpenMappingRoutes(t *testing.T) {
	fs, m, rootDir := fakeProcess(t, "/opt/python3.12")
	file := filepath.Join(rootDir, m.Path)
	expect := func(want Route) {
		t.Helper()
		f, err := fs.Image(7).OpenMapping(m)
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		defer f.File.Close()
		if id := fileID(t, f.ProbePath()); f.Route != want || id != m.File {
			t.Errorf("opened %+v by %s, want %+v by %s", id, f.Route, m.File, want)
		}
	}
	decoy := filepath.Join(t.TempDir(), "decoy")
	write(t, decoy, "another file")

	m.Path = file // as the kernel names it for a chroot
	expect(ByPath)
	m.Path = "/opt/python3.12"
	expect(ByRoot)
	symlink(t, decoy, fs.Proc(7).path("exe"))
	expect(ByRoot)
	os.Remove(fs.Proc(7).path("exe"))
	symlink(t, file, fs.Proc(7).path("exe"))
	expect(ByExe)
	symlink(t, file, fs.Proc(7).path("map_files/1000-2000"))
	expect(ByMapFiles)
}

func TestOpenMappingRefusesOthers(t *testing.T) {
	replace := map[string]func(t *testing.T, name string){
		"gone":         func(*testing.T, string) {},
		"another file": func(t *testing.T, name string) { write(t, name, "another") },
		"directory":    func(t *testing.T, name string) { os.Mkdir(name, 0o755) },
		"pipe without a writer": func(t *testing.T, name string) {
			if err := unix.Mkfifo(name, 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"link to itself": func(t *testing.T, name string) { symlink(t, name, name) },
		"magic link":     func(t *testing.T, name string) { symlink(t, "/proc/self/exe", name) },
	}
	for name, with := range replace {
		t.Run(name, func(t *testing.T) {
			fs, m, rootDir := fakeProcess(t, "/python3")
			file := filepath.Join(rootDir, m.Path)
			// Keep the inode in use, or the replacement may get its number.
			if err := os.Rename(file, filepath.Join(rootDir, "kept")); err != nil {
				t.Fatal(err)
			}
			with(t, file)
			if f, err := fs.Image(7).OpenMapping(m); !errors.Is(err, ErrChanged) {
				t.Errorf("OpenMapping = %+v, %v; want %v", f, err, ErrChanged)
			}
		})
	}
	fs, m, _ := fakeProcess(t, "/python3")
	m.File.Inode = 0
	if _, err := fs.Image(7).OpenMapping(m); !errors.Is(err, ErrChanged) {
		t.Errorf("memory without a file: %v", err)
	}
	if _, err := fs.Image(8).OpenMapping(m); err == nil {
		t.Error("opened a mapping of no process")
	}
}

// TestLookupStaysBelowRoot follows links as the process would: absolute ones start at its own root.
func TestLookupStaysBelowRoot(t *testing.T) {
	fs, m, rootDir := fakeProcess(t, "/real/python3")
	outside := t.TempDir()
	write(t, filepath.Join(outside, "python3"), "decoy")
	symlink(t, "/real", filepath.Join(rootDir, "absolute"))
	symlink(t, outside, filepath.Join(rootDir, "escape"))
	for path, want := range map[string]error{
		"/absolute/python3":                  nil,
		"/../../../real/python3":             nil,
		"/escape/python3":                    ErrChanged,
		"/../" + outside + "/python3":        ErrChanged,
		"../real/python3":                    nil, // not absolute: nothing the kernel writes
		"mapped.go":                          ErrChanged,
		"/real/python3\x00":                  ErrChanged,
		"/real/" + strconv.Itoa(os.Getpid()): ErrChanged,
	} {
		m.Path = path
		f, err := fs.Image(7).OpenMapping(m)
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
		if err == nil {
			f.File.Close()
		}
	}
}
