package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAgentCheck: `tracer agent check` reads the files that a configuration names, and reports a mistake by line,
// without a token.
func TestAgentCheck(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const endpoint = "version: 1\nusers: false\notlp:\n  endpoint: https://otel.example.org:4318\n"
	good, bad := file("good", "Authorization: Bearer secret\n"), file("bad", "X: y\nBearer secret\n")
	for _, c := range []struct {
		config string
		status int
		says   string
	}{
		{endpoint + "  headers_file: " + good, 0, "the configuration is right"},
		{endpoint + "  headers_file: " + bad, 2, bad + ":2: it is no header such as Authorization: Bearer TOKEN"},
		{endpoint + "  headers_file: " + folder + "/none", 2, "no such file"},
		{endpoint + "  ca_file: " + good, 2, "it has no certificate in PEM"},
		{"", 2, `agent.yaml: it has no line "version: 1"`},
		{"users: false\n", 2, `agent.yaml: it has no line "version: 1"`},
		{"version: 1\n" + strings.Repeat("# much\n", 200_000), 2, "agent.yaml: it is larger than 1 MiB"},
		{endpoint + "  timeout: 1h", 2, "agent.yaml:5: otlp: timeout: 1h0m0s is not from 1s to 5m"},
	} {
		cmd := exec.Command(binary, "agent", "check", "--config", file("agent.yaml", c.config))
		out, _ := cmd.CombinedOutput()
		said, status := string(out), cmd.ProcessState.ExitCode()
		if status != c.status || !strings.Contains(said, c.says) || strings.Contains(said, "secret") {
			t.Errorf("%s: status %d, %s", c.config, status, said)
		}
	}
}

// TestAgentCheckKinds: a pipe that somebody holds open, and a device, are no configurations. Nothing waits for them.
func TestAgentCheckKinds(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for name, says := range map[string]string{
		pipe: pipe + ": a configuration must be a regular file", "/dev/zero": "/dev/zero is a device",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, binary, "agent", "check", "--config", name)
		out, _ := cmd.CombinedOutput()
		cancel()
		if status := cmd.ProcessState.ExitCode(); status != 2 || !strings.Contains(string(out), says) {
			t.Errorf("%s: status %d, %s", name, status, out)
		}
	}
}
