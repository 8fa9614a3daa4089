package gpu

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// ReadCommand is the command of the program in nvidia/ that prints the result of [Read].
const ReadCommand = "read"

// Loadable reports whether this program can load NVML's library, and the library exists. [Open] may still fail.
func Loadable() bool {
	if !canLoad {
		return false
	}
	if FindLibrary(Library) != "" {
		return true
	}
	return slices.ContainsFunc(filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, Library))
		return err == nil
	})
}

// Missing returns why NVML's library cannot be loaded; nil if it exists.
func Missing() *NoNVMLError {
	switch {
	case !canLoad:
		return &NoNVMLError{Reason: NotBuiltIn}
	case !Loadable():
		return &NoNVMLError{Reason: LibraryAbsent}
	}
	return nil
}

// Command returns a command that runs the program that loads NVIDIA's libraries: the program that this one carries,
// from memory, or this very program if it carries none. The command inherits files from descriptor 3 on. The caller
// calls release once the command runs.
func Command(files []*os.File, args ...string) (cmd *exec.Cmd, release func(), err error) {
	if len(carried) == 0 {
		cmd = exec.Command("/proc/self/exe", args...)
		cmd.ExtraFiles = files
		return cmd, func() {}, nil
	}
	program, err := unpack()
	if err != nil {
		return nil, nil, fmt.Errorf("unpack the program that loads NVIDIA's libraries: %w", err)
	}
	// The program itself is the last of the files: at a lower number the child might overwrite it before it is
	// executed.
	cmd = exec.Command(fmt.Sprintf("/proc/self/fd/%d", 3+len(files)), args...)
	cmd.Args[0] = "tracer"
	cmd.ExtraFiles = append(slices.Clone(files), program)
	return cmd, func() { program.Close() }, nil
}

// unpack returns a file in memory with the carried program. The file can be executed, and nobody can write to it.
func unpack() (program *os.File, err error) {
	packed, err := gzip.NewReader(bytes.NewReader(carried))
	if err != nil {
		return nil, err
	}
	const sealable = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("tracer-nvidia", sealable|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3 every such file can be executed
		fd, err = unix.MemfdCreate("tracer-nvidia", sealable)
	}
	if err != nil {
		return nil, err
	}
	program = os.NewFile(uintptr(fd), "tracer-nvidia")
	if _, err = io.Copy(program, packed); err == nil {
		const sealed = unix.F_SEAL_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, sealed)
	}
	if err != nil {
		program.Close()
		return nil, err
	}
	return program, nil
}

// WriteReading writes the result of [Read], for [parseReading].
func WriteReading(w io.Writer, s Snapshot, err error) error {
	return json.NewEncoder(w).Encode(newHelperAnswer(s, err))
}
