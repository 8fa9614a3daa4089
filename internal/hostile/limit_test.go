package hostile

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

var kept [][]byte

// attacks cost more than a limit of 8 MiB and Time, each in its own way.
var attacks = map[string]func(){
	"heap": func() { kept = append(kept, make([]byte, 64<<20)) },
	"small": func() {
		for range 1 << 30 {
			kept = append(kept, make([]byte, 512))
		}
	},
	"mapped": func() {
		all, err := syscall.Mmap(-1, 0, 64<<20, syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err == nil {
			for at := 0; at < len(all); at += 4096 {
				all[at] = 1
			}
		}
	},
	"stack": func() { deep(1 << 30) },
	"time": func() {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		}
	},
}

func deep(n int) int {
	var room [64]int
	if n == 0 {
		return room[n]
	}
	room[n%64] = deep(n - 1)
	return room[n%32]
}

// TestLimit runs each attack in a process of its own: it is ended, with the name of the input.
func TestLimit(t *testing.T) {
	const which = "TRACER_TEST_ATTACK"
	if attack, ok := attacks[os.Getenv(which)]; ok {
		Run(t, "input", 8<<20, func(*testing.T) { attack() })
		return
	}
	for name := range attacks {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestLimit$")
			cmd.Env = append(os.Environ(), which+"="+name)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "TestLimit/input took ") {
				t.Errorf("%v: %.2000s", err, out)
			}
		})
	}
}

// TestGarbageIsNoMemory has an input allocate more than the limit, but hold little of it at once: this is within the
// limit.
func TestGarbageIsNoMemory(t *testing.T) {
	cost := Run(t, "input", 8<<20, func(*testing.T) {
		for range 64 {
			kept = append(kept[:0], make([]byte, 1<<20))
		}
	})
	kept = nil
	if cost.Bytes > 8<<20 || cost.Time <= 0 {
		t.Errorf("%+v", cost)
	}
}

// TestCostOfAnInput measures an input that keeps 4 MiB.
func TestCostOfAnInput(t *testing.T) {
	cost := Run(t, "input", 8<<20, func(*testing.T) { kept = append(kept, make([]byte, 4<<20)) })
	kept = nil
	if cost.Bytes < 4<<20 || cost.Bytes > 5<<20 {
		t.Errorf("%d bytes", cost.Bytes)
	}
}
