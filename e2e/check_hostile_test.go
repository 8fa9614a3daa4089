package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// attackingShell is an IPython with names that would break a line or color it. It runs lines of Python from its input.
const attackingShell = `import os, signal, sys, threading
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell(history_length=0)
shell.history_manager.enabled = False
shell.run_cell("before = 1", store_history=True)
shell.user_ns["plain"] = bytearray(32 << 20)
shell.user_ns["\x1b[31mred\n(2)"] = bytearray(64 << 20)
shell.user_ns["x; import os"] = bytearray(64 << 20)
def churn():
    while True:
        shell.user_ns["plain"] = [bytearray(n << 16) for n in range(64)]
        shell.user_ns.pop("x; import os", None)
        shell.user_ns["x; import os"] = {n: [n] * 1000 for n in range(1000)}
print(flush=True)
for line in sys.stdin:
    exec(line)
    print(flush=True)`

// TestCheckOfAnAttacker: whatever the process does between the two looks of a check, the check ends, in one sentence or
// with a report, and prints nothing that steers a terminal.
func TestCheckOfAnAttacker(t *testing.T) {
	together(t)
	for does, c := range map[string]struct {
		code   string
		answer bool // the process says when it has done it
		end    os.Signal
		status int
		says   string
	}{
		"nothing":         {"pass", true, nil, 0, "is there still"},
		"it is stopped":   {"os.kill(os.getpid(), signal.SIGSTOP)", false, nil, 0, "is there still"},
		"and we end it":   {"os.kill(os.getpid(), signal.SIGSTOP)", false, syscall.SIGTERM, 0, "is there still"},
		"it goes on":      {"threading.Thread(target=churn, daemon=True).start()", true, nil, 0, "MiB"},
		"it forgets":      {"shell.user_ns = None; shell.__dict__.clear()", true, nil, 0, "MiB"},
		"another program": {`os.execv("/bin/sleep", ["sleep", "3600"])`, false, nil, 1, "process"},
		"it dies":         {"os.kill(os.getpid(), signal.SIGKILL)", false, nil, 2, "its memory has come back"},
	} {
		t.Run(does, func(t *testing.T) {
			cmd := exec.Command(python(), "-c", attackingShell)
			cmd.Env = append(os.Environ(), "IPYTHONDIR="+t.TempDir())
			in, out := startPiped(t, cmd)
			if _, err := out.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			check := startCheck(t, fmt.Sprint(cmd.Process.Pid))
			if _, err := io.WriteString(in, c.code+"\n"); err != nil {
				t.Fatal(err)
			}
			if c.answer {
				_, _ = out.Read(make([]byte, 1))
			}
			if c.end != nil {
				_ = check.cmd.Process.Signal(c.end)
			} else if _, err := io.WriteString(check.enter, "\n"); err != nil {
				t.Fatal(err)
			}
			status, said := check.result()
			if all := check.listed + said; status != c.status || !strings.Contains(said, c.says) ||
				strings.ContainsAny(all, "\x1b\x07") || strings.Contains(all, "\n(2)") {
				t.Errorf("status %d, want %d and %q:\n%s\n%q", status, c.status, c.says, check.listed, said)
			}
		})
	}
}
