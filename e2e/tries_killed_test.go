package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestCountedKilledTries: a tracer is killed at any moment of its life. The targets go on and count alone, and the next
// tracer's figures are right, or not said to be exact, also where it is stopped for a while.
func TestCountedKilledTries(t *testing.T) {
	c := newCrowd(t)
	var next verdict
	shared := 0
	for try := 0; try < tries(); try += atOnce {
		c.begin(atOnce)
		shared += c.kill()
		if c.r.IntN(2) == 0 {
			c.areAlone()
		}
		c.hurry()
		tr := c.attach()
		for range 8 {
			if c.r.IntN(4) == 0 {
				c.stepWhileStopped(tr)
			} else {
				c.step()
			}
		}
		r, _ := tr.stop()
		next.add(c.judge(r))
		c.areAlone()
	}
	t.Logf("%d tries, %d had a page; cells of the next tracers: %+v", tries(), shared, next)
	if shared == 0 || next.exact == 0 || next.counted == 0 {
		t.Errorf("nothing was counted in a page: %d, %+v", shared, next)
	}
}

// kill attaches a tracer, and kills it while cells run: as it attaches, as it gives pages, as it pauses meters, as it
// detaches, or at another time. It returns how many shells had a page before.
func (c *crowd) kill() (shared int) {
	c.t.Helper()
	ready := filepath.Join(c.t.TempDir(), "ready")
	cmd := exec.Command(binary, append([]string{"attach", "--quiet", "--budget", c.budget(), "--ready-file", ready,
		"--output", os.DevNull, strconv.Itoa(c.shells[0].pid)}, c.pids()...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	if c.r.IntN(4) > 0 {
		until(c.t, "the tracer is ready", func() bool { _, err := os.Stat(ready); return err == nil })
	}
	for end := time.Now().Add(c.until(time.Second)); time.Now().Before(end); {
		c.step()
	}
	for _, r := range c.all("told = COUNTS.shared") {
		if string(r.Told) == "true" {
			shared++
		}
	}
	if c.r.IntN(3) == 0 { // while it detaches
		_ = cmd.Process.Signal(os.Interrupt)
		c.some(30)
	}
	killing := time.AfterFunc(c.until(30*time.Millisecond), func() { _ = cmd.Process.Kill() })
	c.step()
	killing.Stop()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return shared
}

// stepWhileStopped runs cells while a tracer is stopped for so long that its answers come too late.
func (c *crowd) stepWhileStopped(tr *trace) {
	c.t.Helper()
	tr.pause()
	for range 1 + c.r.IntN(3) {
		c.step()
	}
	if err := tr.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		c.t.Fatal(err)
	}
}

// areAlone checks what the shells count without a tracer.
func (c *crowd) areAlone() {
	c.t.Helper()
	c.all("pass")
	const tell = `taken = COUNTS.take()
told = dict(off=not COUNTS.on, shared=COUNTS.shared, rests=COUNTS.rests, taken=taken, counted=counted())`
	for i, r := range c.all(tell) {
		var told struct {
			Off, Shared, Rests bool
			Taken              [3]any
			Counted            int64
		}
		if err := json.Unmarshal(r.Told, &told); err != nil {
			c.t.Fatal(err)
		}
		if told.Off && !c.shells[i].on {
			continue
		}
		if told.Off || told.Shared || told.Rests || told.Taken[0] != float64(told.Counted) || told.Taken[2] != true {
			c.t.Errorf("pid %d counts alone: %s", c.shells[i].pid, r.Told)
		}
	}
}
