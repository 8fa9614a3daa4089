package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/hostile"
)

// TestViewBesideStrangers: a client with the secret gets the page at once, while others hold many connections open that
// send nothing, begin a request, or request forbidden pages and never read.
func TestViewBesideStrangers(t *testing.T) {
	path := "../../testdata/recording/format6.arrows"
	cmd, address, _ := startView(t, "sh", "-c", `ulimit -n 512; exec "$0" view "$1"`, buildTracer(t), path)
	pid := cmd.Process.Pid
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	says := []string{"", "GET / HT", "GET /guess/ HTTP/1.1\r\nHost: " + to.Host + "\r\n\r\n"}
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	var slowest time.Duration
	for i := range hostile.Attempts(1000) {
		c, err := net.Dial("tcp", to.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, says[i%len(says)])
		if i%100 != 99 {
			continue
		}
		began := time.Now()
		if err := seesPage(client, address); err != nil {
			t.Fatalf("beside %d strangers: %v", i+1, err)
		}
		slowest = max(slowest, time.Since(began))
	}
	held, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	if len(held) > 256+64+32 {
		t.Errorf("it has %d descriptors", len(held))
	}
	t.Logf("the page came after %v at most; %d descriptors", slowest, len(held))
	if err := unix.Kill(pid, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// startView starts a command that becomes `tracer view`, and returns the address that it prints, and its other output.
func startView(t *testing.T, command ...string) (cmd *exec.Cmd, address string, said *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	cmd, said = exec.CommandContext(ctx, command[0], command[1:]...), &bytes.Buffer{}
	cmd.Stderr = said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = cmd.Wait() })
	line := make([]byte, 200)
	n, err := out.Read(line)
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	address = strings.TrimSpace(string(line[:n]))
	if !strings.HasPrefix(address, "http://127.0.0.1:") {
		t.Fatalf("it printed %q", address)
	}
	return cmd, address, said
}

// seesPage requests the page, and fails if the answer is anything else.
func seesPage(client *http.Client, address string) error {
	answer, err := client.Get(address)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 200 || !bytes.Contains(page, []byte(`id="data"`)) {
		return fmt.Errorf("%d, %d bytes: %w", answer.StatusCode, len(page), cmp.Or(err, errors.New("not the page")))
	}
	return nil
}

// TestViewServes: the program itself, with the rights that it keeps, prints the address, answers there, and ends well
// on Ctrl-C.
func TestViewServes(t *testing.T) {
	path := "../../testdata/recording/format6.arrows"
	cmd, address, said := startView(t, buildTracer(t), "view", path)
	for range 3 {
		if err := seesPage(http.DefaultClient, address); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, said)
	}
}

// TestViewRefuses: for a file that is no recording, the command fails at once and serves nothing.
func TestViewRefuses(t *testing.T) {
	program := buildTracer(t)
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"view", path}, {"view", filepath.Join(t.TempDir(), "absent")}, {"view", "--port", "70000", path},
	} {
		out, err := exec.Command(program, args...).CombinedOutput()
		if err == nil || strings.Contains(string(out), "http://") || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%v: %v, %q", args, err, out)
		}
	}
}

// TestViewWithoutSite: a build without the site says where there is one, and makes no folder. A test of cmd/site has a
// build with it.
func TestViewWithoutSite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "site")
	out, err := exec.Command(buildTracer(t), "view", "--site", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "'make site' writes it") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s: %v", dir, err)
	}
	for _, arguments := range [][]string{{"view"}, {"view", "x.arrows", "--site", dir}} {
		if out, err := exec.Command(buildTracer(t), arguments...).CombinedOutput(); err == nil {
			t.Errorf("%q: %s", arguments, out)
		}
	}
}
