package inventory

import (
	"fmt"
	"strconv"
	"strings"

	"ipytracer/internal/host/process"
)

// Named returns the processes with pids that the user typed, of any owner.
func Named(pids []int) (who []process.Identity) {
	for _, pid := range pids {
		who = append(who, process.Identity{PID: pid})
	}
	return who
}

func Describe(who []process.Identity) string {
	if len(who) == 1 {
		return fmt.Sprintf("process %d", who[0].PID)
	}
	var parts []string
	for _, id := range who {
		parts = append(parts, strconv.Itoa(id.PID))
	}
	return "processes " + strings.Join(parts, ", ")
}
