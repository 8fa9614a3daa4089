package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestSudoUserReachesOwnProcessesAlone: with sudo, a user limits and moves the own processes and no other user's;
// process 1 belongs to no user.
func TestSudoUserReachesOwnProcessesAlone(t *testing.T) {
	together(t)
	const ann, ben = 65533, 65534
	own, others, roots := sleeper(t, ann), sleeper(t, ben), sleeper(t, 0)
	lent := []string{fmt.Sprintf("SUDO_UID=%d", ann), fmt.Sprintf("SUDO_GID=%d", ann)}
	says := func(env []string, status int, want string, args ...string) {
		t.Helper()
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		if got := exitStatus(t, err); got != status || !strings.Contains(string(out), want) {
			t.Errorf("tracer %s, %v: status %d, want %d: %s", strings.Join(args, " "), env, got, status, out)
		}
		if status == 3 && strings.Count(string(out), "\n") != 1 {
			t.Errorf("not one sentence: %s", out)
		}
	}
	for _, pid := range []int{others, roots} {
		number := strconv.Itoa(pid)
		refused := fmt.Sprintf("process %d is not yours to change", pid)
		for range 20 { // the result does not depend on timing
			says(lent, 3, refused, "limit", number, "3GiB")
		}
		says(lent, 3, refused, "limit", number, "off")
		says(lent, 3, refused, "attach", "--limit", "3GiB", number)
		says(lent, 3, refused, "gpu", "yield", number)
		says(lent, 3, refused, "gpu", "restore", number)
		says(nil, 0, "may map 3.00 GiB", "limit", number, "3GiB")
		says(lent, 3, refused, "limit", number, "off")
		says(lent, 0, "may map 3.00 GiB", "limit", number)
		if got := softLimit(t, pid); got != 3<<30 {
			t.Errorf("root's limit is %d now", got)
		}
		says(nil, 0, "has no limit", "limit", number, "off")
	}
	says(lent, 0, "may map 3.00 GiB", "limit", strconv.Itoa(own), "3GiB")
	says(lent, 0, "has no limit", "limit", strconv.Itoa(own), "off")
	says(lent, 2, "does not use CUDA", "gpu", "yield", strconv.Itoa(own))
	before := rlimits(t, 1)
	for _, args := range [][]string{{"limit", "1", "64GiB"}, {"limit", "1", "off"}, {"gpu", "yield", "1"},
		{"gpu", "restore", "1"}} {
		says(nil, 3, "nobody changes that", args...)
		says(lent, 3, "nobody changes that", args...)
	}
	if got := rlimits(t, 1); got != before {
		t.Errorf("process 1 may map %+v, before %+v", got, before)
	}
}
