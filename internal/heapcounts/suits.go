package heapcounts

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ipytracer/internal/code/elffile"
)

// mostInterpreters is the largest number of interpreters of interpreters that Linux follows (exec_binprm, fs/exec.c).
const mostInterpreters = 5

// Suits returns nil for a program whose dynamic linker will load the library in front of the C library. It fails with
// [ErrCannot]. The file is opened with the caller's rights, and a file that cannot be opened does not suit.
func Suits(program string) error {
	for range mostInterpreters {
		interpreter, err := suits(program)
		if err != nil {
			return fmt.Errorf("%w: %s %w", ErrCannot, program, err)
		}
		if interpreter == "" {
			return nil
		}
		program = interpreter
	}
	return fmt.Errorf("%w: %s has too many interpreters", ErrCannot, program)
}

// suits checks one file. If it is a script, it returns the interpreter, which counts.
func suits(program string) (interpreter string, err error) {
	f, err := os.OpenFile(program, os.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("is no file")
	}
	if interpreter := scriptOf(f); interpreter != "" {
		return interpreter, nil
	}
	if info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 || hasRights(f) {
		return "", fmt.Errorf("gets rights by its file, so the dynamic linker preloads nothing")
	}
	return "", check(f)
}

// scriptOf returns the interpreter in the first line of a script, "" for another file.
func scriptOf(r io.ReaderAt) string {
	line, _ := bufio.NewReader(io.NewSectionReader(r, 0, 256)).ReadString('\n') // BINPRM_BUF_SIZE
	rest, is := strings.CutPrefix(line, "#!")
	if words := strings.Fields(rest); is && len(words) > 0 {
		return words[0]
	}
	return ""
}

// hasRights reports whether a program file has capabilities.
func hasRights(f *os.File) bool {
	n, err := unix.Fgetxattr(int(f.Fd()), "security.capability", nil)
	return err == nil && n > 0
}

// sanitizers begin the names of libraries that must be the first with a malloc.
var sanitizers = []string{"libasan.", "libtsan.", "liblsan.", "libhwasan.", "libclang_rt."}

// check checks a program that is no script.
func check(r io.ReaderAt) error {
	linker, ok := linkerOf(r)
	switch {
	case !ok:
		return fmt.Errorf("is no program for this machine")
	case linker == "":
		return fmt.Errorf("is linked statically")
	case !strings.HasPrefix(path.Base(linker), "ld-linux"):
		return fmt.Errorf("has another C library than glibc")
	}
	if needed := elffile.Needed(r); slices.ContainsFunc(needed, isSanitizer) {
		return fmt.Errorf("has a sanitizer, which must be in front of all libraries")
	}
	return nil
}

func isSanitizer(library string) bool {
	return slices.ContainsFunc(sanitizers, func(s string) bool { return strings.HasPrefix(library, s) })
}

// linkerOf returns the dynamic linker of a program, "" for none. ok is false for a program of another machine.
func linkerOf(r io.ReaderAt) (linker string, ok bool) {
	var head elf.Header64
	if err := read(r, 0, &head); err != nil || string(head.Ident[:4]) != elf.ELFMAG ||
		elf.Class(head.Ident[elf.EI_CLASS]) != elf.ELFCLASS64 || elf.Machine(head.Machine) != elffile.Native ||
		head.Phentsize != uint16(binary.Size(elf.Prog64{})) {
		return "", false
	}
	for i := range min(head.Phnum, 256) {
		var p elf.Prog64
		if err := read(r, int64(head.Phoff)+int64(i)*int64(head.Phentsize), &p); err != nil {
			return "", false
		}
		if elf.ProgType(p.Type) != elf.PT_INTERP {
			continue
		}
		name := make([]byte, min(p.Filesz, unix.PathMax))
		if _, err := r.ReadAt(name, int64(p.Off)); err != nil {
			return "", false
		}
		name, _, _ = bytes.Cut(name, []byte{0})
		return string(name), true
	}
	return "", true
}

// read reads a structure at an offset.
func read(r io.ReaderAt, at int64, into any) error {
	return binary.Read(io.NewSectionReader(r, at, int64(binary.Size(into))), binary.LittleEndian, into)
}
