package filecache

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/internal/hostile"
)

const thisProgram = "this build"

var user = Domain{UID: 1000, Device: 0x803, Inode: 2}

// opened opens a cache, for a build of the program.
func opened(t *testing.T, folder string, d Domain, program string) *Cache {
	t.Helper()
	c, err := Open(folder, d, program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// filled is a folder in which a session has kept a value.
func filled(t *testing.T) (folder, file string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "cache")
	c := opened(t, folder, user, thisProgram)
	c.Put([]byte("key"), []byte("value"))
	c.Close()
	return folder, filepath.Join(folder, user.name(thisProgram))
}

// has compares the cache's value for the key of [filled].
func has(t *testing.T, c *Cache, want bool) {
	t.Helper()
	value, ok := c.Get([]byte("key"))
	if ok != want || ok && string(value) != "value" {
		t.Errorf("found %q, %v, want %v", value, ok, want)
	}
}

// serves finds out that a cache keeps values and finds them again.
func serves(t *testing.T, folder string, d Domain) {
	t.Helper()
	c := opened(t, folder, d, thisProgram)
	c.Put([]byte("new key"), []byte("new value"))
	c.Close()
	if value, ok := opened(t, folder, d, thisProgram).Get([]byte("new key")); !ok || string(value) != "new value" {
		t.Errorf("what is kept from now on is not found: %q, %v", value, ok)
	}
}

func TestValuesAreKept(t *testing.T) {
	folder, file := filled(t)
	has(t, opened(t, folder, user, thisProgram), true)
	for _, name := range []string{folder, file} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v: others may read or write it", name, info.Mode(), err)
		}
	}
	if size, err := Measure(folder); err != nil || size != int64(headerSize+entrySize+len("value")) {
		t.Errorf("there are %d bytes, %v", size, err)
	}
	if _, ok := opened(t, folder, user, thisProgram).Get([]byte("another key")); ok {
		t.Error("found what nobody has kept")
	}
}

func TestNilKeepsNothing(t *testing.T) {
	var c *Cache
	c.Put([]byte("key"), []byte("value"))
	has(t, c, false)
	c.Close()
	(&Cache{}).Put([]byte("key"), []byte("value"))
	has(t, &Cache{}, false)
}

// TestValuesOfOneUserAlone: values that were kept for one user, or for a root of one, are not found for another.
func TestValuesOfOneUserAlone(t *testing.T) {
	folder, _ := filled(t)
	for _, other := range []Domain{{1001, user.Device, user.Inode}, {user.UID, user.Device + 1, user.Inode},
		{user.UID, user.Device, user.Inode + 1}, {}} {
		has(t, opened(t, folder, other, thisProgram), false)
	}
	has(t, opened(t, folder, user, thisProgram), true)
}

// TestOtherBuild: a build of the program does not read another build's entries, and keeps its own.
func TestOtherBuild(t *testing.T) {
	folder, _ := filled(t)
	has(t, opened(t, folder, user, "another build"), false)
	serves(t, folder, user)
	has(t, opened(t, folder, user, thisProgram), true) // builds take turns
	if _, err := Open(folder, user, ""); err == nil {
		t.Error("a program that cannot say which build it is keeps something")
	}
}

// TestDamagedFileIsReplaced has nothing be found behind damage, and a new file in the place of the damaged one.
func TestDamagedFileIsReplaced(t *testing.T) {
	whole := headerSize + entrySize + len("value")
	for name, damage := range map[string]func([]byte) []byte{
		"empty":               func([]byte) []byte { return nil },
		"short header":        func(b []byte) []byte { return b[:headerSize-1] },
		"cut":                 func(b []byte) []byte { return b[:whole-1] },
		"cut in the head":     func(b []byte) []byte { return b[:headerSize+5] },
		"another value":       func(b []byte) []byte { b[headerSize+36] ^= 1; return b },
		"another key":         func(b []byte) []byte { b[headerSize] ^= 1; return b },
		"another sum":         func(b []byte) []byte { b[whole-1] ^= 1; return b },
		"endless":             func(b []byte) []byte { copy(b[headerSize+32:], "\xff\xff\xff\xff"); return b },
		"another header":      func(b []byte) []byte { b[0] ^= 1; return b },
		"garbage":             func([]byte) []byte { return bytes.Repeat([]byte("x"), 5000) },
		"larger than allowed": func(b []byte) []byte { return append(b, make([]byte, maxFile)...) },
	} {
		t.Run(name, func(t *testing.T) {
			folder, file := filled(t)
			data, err := os.ReadFile(file)
			if err != nil || len(data) != whole {
				t.Fatal(len(data), err)
			}
			if err := os.WriteFile(file, damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			c := opened(t, folder, user, thisProgram)
			has(t, c, false)
			c.Close()
			serves(t, folder, user)
		})
	}
}

// TestDamagedBehind: entries in front of damage are found, once.
func TestDamagedBehind(t *testing.T) {
	folder, file := filled(t)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("half an ent"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	c := opened(t, folder, user, thisProgram)
	has(t, c, true)
	c.Close()
	serves(t, folder, user)
}

// TestFilesOfStrangersAreNotUsed: a file that somebody else may have written is not used, nor the target of a link. The
// program puts its own file in the place.
func TestFilesOfStrangersAreNotUsed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give files away")
	}
	for name, change := range map[string]func(t *testing.T, file string) error{
		"another's": func(_ *testing.T, file string) error { return os.Chown(file, 1000, 1000) },
		"readable":  func(_ *testing.T, file string) error { return os.Chmod(file, 0o644) },
		"writable":  func(_ *testing.T, file string) error { return os.Chmod(file, 0o620) },
		"two names": func(t *testing.T, file string) error { return os.Link(file, file+".too") },
		"a pipe": func(_ *testing.T, file string) error {
			return errors.Join(os.Remove(file), unix.Mkfifo(file, 0o600))
		},
		"a link": func(t *testing.T, file string) error {
			elsewhere := filepath.Join(t.TempDir(), "elsewhere")
			return errors.Join(os.Rename(file, elsewhere), os.Symlink(elsewhere, file))
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder, file := filled(t)
			if err := change(t, file); err != nil {
				t.Fatal(err)
			}
			c := opened(t, folder, user, thisProgram)
			has(t, c, false)
			c.Close()
			serves(t, folder, user)
		})
	}
}

// TestFolder has no folder be used that is not this user's alone.
func TestFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give folders away")
	}
	for name, change := range map[string]func(t *testing.T, folder string) error{
		"another's": func(_ *testing.T, folder string) error { return os.Chown(folder, 1000, 1000) },
		"open":      func(_ *testing.T, folder string) error { return os.Chmod(folder, 0o755) },
		"a link": func(t *testing.T, folder string) error {
			elsewhere := filepath.Join(t.TempDir(), "elsewhere")
			return errors.Join(os.Rename(folder, elsewhere), os.Symlink(elsewhere, folder))
		},
		"a file": func(_ *testing.T, folder string) error {
			return errors.Join(os.RemoveAll(folder), os.WriteFile(folder, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder, _ := filled(t)
			if err := change(t, folder); err != nil {
				t.Fatal(err)
			}
			if c, err := Open(folder, user, thisProgram); err == nil || c != nil {
				t.Error("it was opened")
			}
		})
	}
	if _, err := Open(filepath.Join(t.TempDir(), "not", "there"), user, thisProgram); err == nil {
		t.Error("a folder was made in one that is missing")
	}
}

// TestReadOnly has a folder that nothing can be made in be no more than an error.
func TestReadOnly(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount")
	}
	folder, _ := filled(t)
	if err := unix.Mount(folder, folder, "", unix.MS_BIND, ""); err != nil {
		t.Skip(err)
	}
	defer unix.Unmount(folder, unix.MNT_DETACH)
	if err := unix.Mount("", folder, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if c, err := Open(folder, user, thisProgram); !errors.Is(err, unix.EROFS) || c != nil {
		t.Errorf("%v, %v", c, err)
	}
}

func FuzzDecode(f *testing.F) {
	folder := f.TempDir()
	c, err := Open(filepath.Join(folder, "cache"), user, thisProgram)
	if err != nil {
		f.Fatal(err)
	}
	c.Put([]byte("key"), []byte("value"))
	data, err := io.ReadAll(io.NewSectionReader(c.file, 0, maxFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-3])
	hostile.Fuzz(f, 64<<20, func(t *testing.T, data []byte) {
		entries, whole := decode(data, thisProgram)
		size := headerSize
		for _, value := range entries {
			size += entrySize + len(value)
		}
		if len(entries) > 0 && size > len(data) {
			t.Errorf("%d entries, %v, of %d bytes", len(entries), whole, len(data))
		}
	})
}
