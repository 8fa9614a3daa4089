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

// Each runs a test on this machine's own root, under the name bookworm, on each tree of scripts/pythons.sh, and on the
// trees for other machines.
func Each(t *testing.T, test func(*testing.T, Tree)) {
	t.Helper()
	EachTree(t, "bookworm", test)
	Others(t, test)
}

// Open opens an ELF file for any machine, and returns that machine.
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

// Files returns the files of a tree that a pattern matches, without links, which may lead out of the tree.
func (t Tree) Files(pattern string) (files []string) {
	found, _ := filepath.Glob(filepath.Join(t.Root, pattern))
	for _, file := range found {
		if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
			files = append(files, file)
		}
	}
	return files
}

// identify returns the build id of a file, or its SHA-256 if it has no build id.
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

// packaged returns the Debian package of a file, with its version and architecture, or "" if no package has the file.
// The file may lie in another system's tree, such as a chroot.
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

// owner returns the package that has a file, by a dpkg database. The database may have the file's name from before /lib
// became a link to /usr/lib.
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

// version returns the name, version and architecture of a package.
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
