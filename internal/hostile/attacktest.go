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

// Attempts returns how often a test tries an attack: TRACER_ATTEMPTS times, or the usual number.
func Attempts(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("TRACER_ATTEMPTS")); err == nil {
		return n
	}
	return usual
}

// Folder makes a folder that everybody may enter, for programs that give further rights. It is in the first folder for
// temporary files whose file system is not mounted nosuid; systemd mounts /tmp so. It is removed when the test is over.
func Folder(t testing.TB) string {
	t.Helper()
	parent := os.TempDir()
	for _, candidate := range []string{parent, "/var/tmp"} {
		var st unix.Statfs_t
		if err := unix.Statfs(candidate, &st); err == nil && st.Flags&unix.ST_NOSUID == 0 {
			parent = candidate
			break
		}
	}
	folder, err := os.MkdirTemp(parent, "ipytracer-attack-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

// Copy copies a program, which it finds as a shell does, to a file. The mode may include set-user-ID and set-group-ID.
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

// Await waits until a condition holds. It fails the test if the process ends before, or after a minute. what describes
// the condition: "it had opened the file".
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

// MakeCapable gives a program's file a capability below 32, which every process that executes the file gets.
func MakeCapable(path string, capability uint) error {
	const revision2AndEffective = 0x02000001
	var attribute []byte // struct vfs_cap_data of linux/capability.h: the magic, and permitted and inheritable twice
	for _, word := range []uint32{revision2AndEffective, 1 << capability, 0, 0, 0} {
		attribute = binary.LittleEndian.AppendUint32(attribute, word)
	}
	return unix.Setxattr(path, "security.capability", attribute, 0)
}
