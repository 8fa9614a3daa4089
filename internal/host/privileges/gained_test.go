package privileges

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/internal/hostile"
)

// executed is a program that is executed, the user who executes it, and the rights that it has then.
type executed struct {
	name string
	mode uint32
	caps bool // the file has capabilities of its own
	as   uint32
}

const nobody = 65534

// programs are executed to gain rights: by root, with a capability of the file's own, as a set-user-ID program of
// root's.
var programs = []executed{{"root", 0o755, false, 0}, {"capable", 0o755, true, nobody},
	{"setuid", 0o4755, false, nobody}}

// status returns a line of /proc/self/status, of this program, or printed by a program that is executed.
func status(t *testing.T, text []byte, name string) string {
	t.Helper()
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("no %s in\n%s", name, text)
	return ""
}

// makePrograms copies cat as each of them.
func makePrograms(t *testing.T) (dir string) {
	t.Helper()
	dir = hostile.Folder(t)
	for _, p := range programs {
		path := filepath.Join(dir, p.name)
		hostile.Copy(t, "cat", path, p.mode)
		if !p.caps {
			continue
		}
		if err := hostile.MakeCapable(path, unix.CAP_SYS_PTRACE); err != nil {
			t.Logf("files have no capabilities here: %v", err)
		}
	}
	return dir
}

// has returns the rights of a program that is executed: its capabilities, and whether it is root.
func (p executed) has(t *testing.T, dir string) (capabilities uint64, root bool) {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, p.name), "/proc/self/status")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: p.as, Gid: p.as}}
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	capabilities, err = strconv.ParseUint(status(t, text, "CapPrm"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return capabilities, strings.Fields(status(t, text, "Uid"))[1] == "0"
}

// TestNothingIsGained: a program that is executed gets neither a capability that was given up nor another user's
// rights, whether root executes it, its file has capabilities or it is a set-user-ID program. Before, it does get them.
// The bounding set is unchanged.
func TestNothingIsGained(t *testing.T) {
	requireRoot(t)
	const folder = "IPYTRACER_TEST_PROGRAMS"
	if os.Getenv(confinedVariable) == "" {
		t.Setenv(folder, makePrograms(t))
	}
	confined(t, func(t *testing.T) {
		const kept = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID
		own := func(name string) string {
			text, err := os.ReadFile("/proc/self/status")
			if err != nil {
				t.Fatal(err)
			}
			return status(t, text, name)
		}
		bounding := own("CapBnd")
		now, err := capabilities()
		if err != nil {
			t.Fatal(err)
		}
		if err := setCapabilities(now.only([]uint{unix.CAP_SETUID, unix.CAP_SETGID})); err != nil {
			t.Fatal(err)
		}
		gained := map[string]bool{}
		for _, p := range programs {
			caps, root := p.has(t, os.Getenv(folder))
			gained[p.name] = caps&^kept != 0 || root && p.as != 0
		}
		if err := KeepCapabilities(unix.CAP_SETUID, unix.CAP_SETGID); err != nil {
			t.Fatal(err)
		}
		for _, p := range programs {
			t.Run(p.name, func(t *testing.T) {
				if caps, root := p.has(t, os.Getenv(folder)); caps&^kept != 0 || root && p.as != 0 {
					t.Errorf("it has the capabilities %x, and is root: %v", caps, root)
				}
				if !gained[p.name] { // a file system that is mounted nosuid, or a container with hardly a capability
					t.Skip("there was nothing to gain before, either")
				}
			})
		}
		if after := own("CapBnd"); after != bounding {
			t.Errorf("the bounding set was %s and is %s", bounding, after)
		}
	})
}
