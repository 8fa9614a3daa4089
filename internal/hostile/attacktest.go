package hostile

// This file has the common parts of tests of attacks: the number of attempts, waits for a process, and programs that
// give further rights to every user that executes them.

import (
	"encoding/binary"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Attempts returns the number of attempts of an attack: TRACER_ATTEMPTS, or the usual number.
func Attempts(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("TRACER_ATTEMPTS")); err == nil {
		return n
	}
	return usual
}

// Folder makes a folder that everybody may enter, for programs that give further rights. It takes the first file system
// for temporary files that is not mounted nosuid, as a /tmp of systemd's is. The folder is removed when the test is
// over.
func Folder(t testing.TB) string {
	t.Helper()
	in := os.TempDir()
	for _, place := range []string{in, "/var/tmp"} {
		var st unix.Statfs_t
		if err := unix.Statfs(place, &st); err == nil && st.Flags&unix.ST_NOSUID == 0 {
			in = place
			break
		}
	}
	folder, err := os.MkdirTemp(in, "ipytracer-attack-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// Copy copies a program, found as a shell finds it, to a file with a mode's bits, set-user-ID and set-group-ID
// included.
func Copy(t testing.TB, program, to string, mode uint32) {
	t.Helper()
	from, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, code, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Chmod(to, mode); err != nil {
		t.Fatal(err)
	}
}

// Await waits until a condition holds, while a process runs. It fails if the process ends before, or after a minute.
func Await(t testing.TB, pid int, what string, holds func() bool) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for deadline := time.Now().Add(time.Minute); !holds(); {
		ended := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, _ := unix.Poll(ended, 5); n > 0 {
			t.Fatalf("process %d has ended before %s", pid, what)
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d: never %s", pid, what)
		}
	}
}

// MakeCapable gives a program's file a capability, which every process that executes the file has: struct vfs_cap_data,
// linux/capability.h, permitted and inheritable, twice.
func MakeCapable(path string, capability uint) error {
	var own []byte
	for _, word := range []uint32{0x02000001, 1 << capability, 0, 0, 0} {
		own = binary.LittleEndian.AppendUint32(own, word)
	}
	return unix.Setxattr(path, "security.capability", own, 0)
}
