package gpu

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"ipytracer/internal/host/process"
	"ipytracer/internal/hostile"
)

const nobody = 65534

// becoming starts a user's process that executes another program, which sleeps, at a signal.
func becoming(t *testing.T, program string) (h *process.Handle, become func()) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `read line; exec "$0" 600`, program)
	cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}, "/"
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	h, err = process.FS{}.Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h, func() {
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
		hostile.Await(t, cmd.Process.Pid, "it executes "+program, func() bool {
			exe, err := process.FS{}.Proc(cmd.Process.Pid).ExeName()
			return err == nil && exe == program
		})
	}
}

// sleepWith copies sleep(1) to a file with a mode's bits.
func sleepWith(t *testing.T, mode uint32) string {
	t.Helper()
	path := filepath.Join(hostile.Folder(t), "sleep")
	hostile.Copy(t, "sleep", path, mode)
	return path
}

// TestProcessThatGainedRightsIsLeftAlone: a process that executes a set-user-ID program between two calls of the driver
// is not touched from then on for its user, nor for another. For root it is, and so is one that executes an ordinary
// program.
func TestProcessThatGainedRightsIsLeftAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("takes root")
	}
	for _, c := range []struct {
		name string
		mode uint32
		uid  uint32
		want error
		in   CUDAState
	}{
		{"set-user-ID, for its user", 0o4755, nobody, ErrGained, CUDALocked},
		{"set-user-ID, for root", 0o4755, 0, nil, CUDACheckpointed},
		{"ordinary, for its user", 0o755, nobody, nil, CUDACheckpointed},
	} {
		h, become := becoming(t, sleepWith(t, c.mode))
		f := &fake{}
		s := &moveServer{calls: byPID{f}, pid: h.Identity().PID, look: newLook(h, process.RightsOf(c.uid))}
		if err := s.do(request{Do: doLock}).err(); err != nil || f.state != CUDALocked {
			t.Fatalf("%s: %v, it is in %v", c.name, err, f.state)
		}
		become()
		var out bytes.Buffer
		if err := s.serve(json.NewDecoder(bytes.NewReader([]byte(`{"Do":"checkpoint"}`))),
			json.NewEncoder(&out)); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		answers := json.NewDecoder(&out)
		var a answer
		for range 2 { // the first one is ready then
			a = answer{}
			if err := answers.Decode(&a); err != nil {
				t.Fatal(err)
			}
		}
		if !errors.Is(a.err(), c.want) || f.state != c.in {
			t.Errorf("%s: %v, it is in %v", c.name, a.err(), f.state)
		}
	}
	h, _ := becoming(t, sleepWith(t, 0o755))
	if err := newLook(h, process.RightsOf(nobody-1))(); !errors.Is(err, ErrGained) {
		t.Errorf("another's process: %v", err)
	}
}
