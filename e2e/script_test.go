package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the sessions of testdata/script: a user's input, and the output.
func TestScripts(t *testing.T) {
	require(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, "PYTHON="+python(), "TESTPID="+fmt.Sprint(os.Getpid()),
				"PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
			// Other users must be able to reach the binary and the working directory.
			for dir := env.WorkDir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
				if err := os.Chmod(dir, 0o755); err != nil {
					return err
				}
			}
			return os.Chmod(filepath.Dir(binary), 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ipython":   startIPython,
			"status":    expectStatus,
			"smalldisk": smallDisk,
			"oneline":   oneLine,
		},
	})
}

// ipython NAME CODE starts an IPython that runs one cell after a line on its standard input; its pid is in $NAME.
func startIPython(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ipython NAME CODE")
	}
	ready := ts.MkAbs(args[0] + ".ready")
	cmd := exec.Command(python(), "-c",
		"import sys, IPython\nIPython.start_ipython(argv=['--no-banner', '--colors=NoColor', '--quick', '-c', "+
			"sys.argv[1]])",
		fmt.Sprintf("open(%q, 'w').close()\n%s", ready, strings.ReplaceAll(args[1], `\n`, "\n")))
	cmd.Dir, cmd.SysProcAttr = ts.MkAbs("."), &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ts.Check(cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	deadline := time.After(patience)
	for {
		if _, err := os.Stat(ready); err == nil {
			break
		}
		select {
		case <-ended:
			ts.Fatalf("ipython ended")
		case <-deadline:
			ts.Fatalf("ipython did not run its cell")
		case <-time.After(5 * time.Millisecond): // look for the file again
		}
	}
	ts.Setenv(args[0], fmt.Sprint(cmd.Process.Pid))
}

// status N COMMAND … runs a command that must end with status N; its output is for stdout and stderr, as after exec.
func expectStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND [ARG ...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("status %d, want %s", got, args[0])
	}
}

// oneline checks that standard error is one line: one clear sentence, no stack trace.
func oneLine(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile("stderr")
	if strings.Count(text, "\n") != 1 || strings.Contains(text, "goroutine") || !strings.HasPrefix(text, "tracer: ") {
		ts.Fatalf("not one line: %q", text)
	}
}

// smalldisk DIR SIZE mounts a file system of the given size.
func smallDisk(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+args[1]))
	ts.Defer(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}
