package elftest

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/internal/code/elffile"
)

// Tree is a system's root.
type Tree struct{ Name, Root string }

// Each runs a test on this machine's own root, which has the name bookworm, on each tree that scripts/pythons.sh makes,
// and on those for other machines that are there.
func Each(t *testing.T, test func(*testing.T, Tree)) {
	t.Helper()
	EachTree(t, "bookworm", test)
	Others(t, test)
}

// Open opens a file, for whichever machine it is, and returns the machine.
func Open(t *testing.T, file string) (elffile.AnyMachine, elf.Machine) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	r := elffile.AnyMachine{ReaderAt: f}
	opened, err := elffile.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	return r, opened.Machine()
}

// Files returns the files of a tree that a pattern matches. Links are left out: they may lead out of it.
func (t Tree) Files(pattern string) (files []string) {
	found, _ := filepath.Glob(filepath.Join(t.Root, pattern))
	for _, file := range found {
		if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
			files = append(files, file)
		}
	}
	return files
}

// identify returns the build id of a file, or the SHA-256 of one that has none.
func identify(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := elffile.Open(elffile.AnyMachine{ReaderAt: bytes.NewReader(raw)}); err == nil {
		if id := f.BuildID(); len(id) > 0 {
			return hex.EncodeToString(id)
		}
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// packaged returns the Debian package of a file, with its version and architecture, "" for a file of none. The file may
// lie in a tree of its own, such as a chroot.
func packaged(file string) string {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return ""
	}
	for tree := filepath.Dir(file); ; tree = filepath.Dir(tree) {
		data := filepath.Join(tree, "var/lib/dpkg")
		if _, err := os.Stat(filepath.Join(data, "status")); err == nil {
			return owner(data, strings.TrimPrefix(file, strings.TrimSuffix(tree, "/")))
		}
		if tree == filepath.Dir(tree) {
			return ""
		}
	}
}

// owner looks in a dpkg database for the package of a file, which may be known by its name from before /lib became a
// link.
func owner(data, file string) string {
	lists, _ := filepath.Glob(filepath.Join(data, "info", "*.list"))
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for _, name := range []string{file, strings.TrimPrefix(file, "/usr")} {
			if bytes.Contains(raw, []byte("\n"+name+"\n")) {
				name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(list), ".list"), ":")
				return version(data, name)
			}
		}
	}
	return ""
}

// version returns a package with its version and architecture.
func version(data, name string) string {
	raw, _ := os.ReadFile(filepath.Join(data, "status"))
	_, record, found := strings.Cut("\n"+string(raw), "\nPackage: "+name+"\n")
	if !found {
		return ""
	}
	record, _, _ = strings.Cut(record, "\n\n")
	field := func(key string) string {
		_, value, _ := strings.Cut("\n"+record, "\n"+key+": ")
		value, _, _ = strings.Cut(value, "\n")
		return value
	}
	return name + " " + field("Version") + " " + field("Architecture")
}
