package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgentElsewhere: `tracer agent` executes the program beside it with the same flags, unless others may have changed
// that program.
func TestAgentElsewhere(t *testing.T) {
	own := buildTracer(t)
	write := func(mode os.FileMode) func(string) error {
		return func(path string) error {
			const says = "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"
			if err := os.WriteFile(path, []byte(says), 0o700); err != nil {
				return err
			}
			return os.Chmod(path, mode)
		}
	}
	for name, c := range map[string]struct {
		put  func(path string) error
		says string
	}{
		"right":          {write(0o755), "agent\ncheck\n--config=/etc/a b.yaml\n"},
		"absent":         {func(string) error { return nil }, "tracer-agent is not there: it is in the Debian package"},
		"world-writable": {write(0o757), "others than its owner can write to it; type 'chmod go-w "},
		"of a group":     {write(0o775), "others than its owner can write to it"},
		"a link": {
			func(path string) error { return os.Symlink("/bin/echo", path) },
			"it is not a regular file",
		},
		"another user's": {func(path string) error {
			if err := write(0o755)(path); err != nil {
				return err
			}
			return os.Chown(path, 12345, -1)
		}, "its owner is neither root nor the owner of"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "another user's" && os.Getuid() != 0 {
				t.Skip("needs root")
			}
			folder := t.TempDir()
			program := filepath.Join(folder, "tracer")
			if err := os.Link(own, program); err != nil {
				t.Fatal(err)
			}
			if err := c.put(filepath.Join(folder, "tracer-agent")); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(program, "agent", "check", "--config", "/etc/a b.yaml").CombinedOutput()
			if right := name == "right"; right != (err == nil) || !strings.Contains(string(out), c.says) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
