package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// procOf makes a /proc of one process, with some files, and of this program, with the others.
func procOf(t *testing.T, pid int, theirs, ours map[string]string) FS {
	t.Helper()
	root := t.TempDir()
	for name, files := range map[string]map[string]string{fmt.Sprint(pid): theirs, self: ours} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(root, name, file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return FS{Root: root, Helper: NewHelper(t.Context())}
}

// TestUsersOverlay: an overlay may be above a server of its user's, so one in another user namespace is distant, and
// one that root has mounted is not.
func TestUsersOverlay(t *testing.T) {
	const line = "50 1 0:46 / /over rw,relatime - overlay overlay rw,lowerdir=/mnt:/low\n"
	const all, one = "0 0 4294967295\n", "0 61111 1\n"
	for _, c := range []struct {
		name, theirs, mounts, ours string
		distant                    bool
	}{
		{"root's", all, line, "", false},
		{"a user's", one, line, "", true},
		{"a user's beside root's own mounts", one, "", line, false},
		{"nobody's that is seen", all, "", "", true},
		{"a FUSE server's", all, strings.Replace(line, "- overlay", "- fuse.x", 1), "", true},
		{"beyond what is read", all, strings.Repeat("51 1 0:47 / /"+strings.Repeat("x", 1000)+" rw - tmpfs x rw\n",
			maxMountinfo/1000) + line, "", true},
	} {
		fs := procOf(t, 42, map[string]string{"mountinfo": c.mounts, "uid_map": c.theirs},
			map[string]string{"mountinfo": c.ours, "uid_map": all})
		if got := fs.Image(42).IsDistant(FileID{Minor: 46, Inode: 1}); got != c.distant {
			t.Errorf("%s: distant %v", c.name, got)
		}
	}
}

// crowd is a list of more mappings than are read.
func crowd() string {
	line := "7f0000000000-7f0000001000 r--p 00000000 00:46 1 /" + strings.Repeat("x", 4000) + "\n"
	return strings.Repeat(line, maxMapBytes/len(line)+2)
}

// TestManyMappingsAreReadSeldom: a process with more mappings than are read is not read again for a while.
func TestManyMappingsAreReadSeldom(t *testing.T) {
	fs := procOf(t, 42, map[string]string{"maps": crowd()}, nil)
	if _, err := fs.Image(42).Maps(); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(fs.Root, "42", "maps"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Image(42).Maps(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("read again at once: %v", err)
	}
}

// TestUnseenMemory: memory is not read where a file that may not answer could be mapped unseen.
func TestUnseenMemory(t *testing.T) {
	small := "7f0000000000-7f0000001000 rw-p 00000000 00:00 0\n"
	for name, c := range map[string]struct {
		maps string
		want error
	}{"few mappings": {small, nil}, "too many": {crowd(), ErrTooLarge}} {
		fs := procOf(t, 42, map[string]string{"maps": c.maps, "mem": "words"}, nil)
		file, err := os.Open(filepath.Join(fs.Root, "42", "mem"))
		if err != nil {
			t.Fatal(err)
		}
		m := &Memory{fs: fs, pid: 42, file: file}
		for range 2 {
			if _, err := m.ReadAt(make([]byte, 5), 0); !errors.Is(err, c.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
