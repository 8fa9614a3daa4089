package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
	const endpoint = "users: false\notlp:\n  endpoint: https://otel.example.org:4318\n"
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
		{endpoint + "  timeout: 1h", 2, "agent.yaml:4: otlp: timeout: 1h0m0s is not from 1s to 5m"},
	} {
		cmd := exec.Command(binary, "agent", "check", "--config", file("agent.yaml", c.config))
		out, _ := cmd.CombinedOutput()
		said, status := string(out), cmd.ProcessState.ExitCode()
		if status != c.status || !strings.Contains(said, c.says) || strings.Contains(said, "secret") {
			t.Errorf("%s: status %d, %s", c.config, status, said)
		}
	}
}
