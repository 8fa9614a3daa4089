package process

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// nobodySaw has the findings of an unprivileged tracer, for the test that started it.
type nobodySaw struct {
	OwnRoute      Route  // the way by which it opened its own child's interpreter
	Strangers     string // error on the test's process
	Pythons       []int
	Hidden        int
	HiddenPythons int
	StatOfInit    bool
	Capabilities  CapabilitySet
}

func lookAsNobody() nobodySaw {
	var saw nobodySaw
	pids := strings.Split(os.Getenv(asNobody), ",")
	own, _ := strconv.Atoi(pids[0])
	stranger, _ := strconv.Atoi(pids[1])
	if f, err := live.Image(own).InterpreterFile(holdsInterpreter); err == nil {
		saw.OwnRoute = f.Route
	}
	if _, err := live.Image(stranger).InterpreterFile(holdsInterpreter); err != nil {
		saw.Strangers = err.Error()
	}
	all, _ := live.Pythons(context.Background(), isInterpreter)
	for _, p := range all.Pythons {
		saw.Pythons = append(saw.Pythons, p.PID)
	}
	saw.Hidden, saw.HiddenPythons = all.Hidden, all.HiddenPythons
	_, err := live.Proc(1).Stat()
	saw.StatOfInit = err == nil
	saw.Capabilities = live.Facts().Capabilities
	return saw
}

func TestUnprivileged(t *testing.T) {
	needRoot(t) // to become another user
	needPython(t)
	nobody := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	ownCmd := exec.Command(python, "-S", "-c", program)
	ownCmd.SysProcAttr, ownCmd.Dir = nobody, "/"
	own, stranger := start(t, ownCmd), startPython(t)

	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	// By descriptor: the directory of the test binary is closed to others.
	cmd := &exec.Cmd{
		Path: "/proc/self/fd/3", Args: []string{"tracer"}, ExtraFiles: []*os.File{self}, Dir: "/", SysProcAttr: nobody,
		Env:    []string{asNobody + "=" + strconv.Itoa(own.Process.Pid) + "," + strconv.Itoa(stranger.Process.Pid)},
		Stderr: os.Stderr,
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var saw nobodySaw
	if err := json.Unmarshal(out, &saw); err != nil {
		t.Fatal(err)
	}
	if saw.OwnRoute != ByExe || !saw.StatOfInit || saw.Capabilities != 0 {
		t.Errorf("nobody saw %+v", saw)
	}
	if want := (&Error{PID: stranger.Process.Pid, Kind: ErrNotPermitted}).Error(); saw.Strangers != want {
		t.Errorf("a stranger's process: %q, want %q", saw.Strangers, want)
	}
	if !slices.Contains(saw.Pythons, own.Process.Pid) || slices.Contains(saw.Pythons, stranger.Process.Pid) {
		t.Errorf("nobody can attach to %v, want %d and not %d", saw.Pythons, own.Process.Pid, stranger.Process.Pid)
	}
	if saw.HiddenPythons < 1 || saw.Hidden < saw.HiddenPythons+1 {
		t.Errorf("hidden %d, Pythons among them %d", saw.Hidden, saw.HiddenPythons)
	}
}
