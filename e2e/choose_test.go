package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestChoiceAmongKernels answers wrongly when several kernels are there: the program asks again, and attaches to the
// right one in the end. The list says since when each is there, and when it last ran.
func TestChoiceAmongKernels(t *testing.T) {
	together(t)
	kernel := place{driver: "run_kernel.py", python: python()}
	one, two := startWorkload(t, kernel, nil), startWorkload(t, kernel, nil)
	s := startScreen(t, 160, 60, nil, binary, "attach", "--duration", "100ms")
	s.showsText("Which one (1-")
	for _, want := range []string{"STARTED", "LAST RAN", "NOTEBOOK"} {
		s.showsText(want)
	}
	for _, pid := range []int{one.pid, two.pid} {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\s*\d+\) +%d .*iB +\d\d:\d\d:\d\d +(now|.* ago)  `, pid))
		if !row.MatchString(s.text()) {
			t.Errorf("no row %v in\n%s", row, s.text())
		}
	}
	for _, wrong := range []string{"0", "x", "999999999"} {
		s.press(wrong + "\r")
		s.showsText(fmt.Sprintf("%q is neither", wrong))
	}
	s.press("\r")
	s.press(fmt.Sprint(two.pid) + "\r")
	s.showsText(fmt.Sprintf("attached to process %d", two.pid))
	if err := s.end(); err != nil || strings.Count(s.said(), "Which one") != 5 {
		t.Errorf("%v: %s", err, s.said())
	}
}
