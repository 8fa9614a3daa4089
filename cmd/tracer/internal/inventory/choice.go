package inventory

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/host/process"
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
)

// printChoice prints several kernels with what tells them apart.
func printChoice(w io.Writer, ready []Python) error {
	t := doc.NewListing(console.Colored(w), 2)
	t.Header("", "PID", "USER", "FRONTEND", "MEMORY", "STARTED", "LAST RAN", "DIRECTORY", "NOTEBOOK")
	for i, r := range ready {
		t.Row(strconv.Itoa(i+1)+")", r.PID, escape.Text(r.User), doc.Dash(r.Frontend), words.Bytes(r.Resident),
			startedAt(r.Identity, time.Now()), lastRan(r.PID), escape.Text(r.Cwd),
			doc.Dash(words.NotebookName(r.Notebook)))
	}
	_, err := fmt.Fprintln(w, t)
	return err
}

// startedAt returns when a process started: the time of the day, with the date if it was on another.
func startedAt(id process.Identity, now time.Time) string {
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return "-"
	}
	const tick = 10 * time.Millisecond // of StartTicks
	began := now.Add(time.Duration(id.StartTicks)*tick - time.Duration(up.Nano()))
	if began.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return began.Format("15:04:05")
	}
	return began.Format("2006-01-02 15:04")
}

// lastRan returns for how long a process has had nothing to do.
func lastRan(pid int) string {
	switch ago, ok := (process.FS{}).Proc(pid).LastRan(); {
	case !ok:
		return "-"
	case ago < time.Second:
		return "now"
	case ago < time.Minute:
		return fmt.Sprintf("%d s ago", ago/time.Second)
	default:
		return words.Duration(int64(ago.Truncate(time.Second))) + " ago"
	}
}

// ask lets the user choose on the terminal, by a number of the list or a pid, until the answer is one of these.
func ask(c console.Console, ready []Python) ([]process.Identity, error) {
	if err := printChoice(c.Err, ready); err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(c.In, 4<<10)
	for {
		fmt.Fprintf(c.Err, "Which one (1-%d, Ctrl-C for none)? ", len(ready))
		line, err := in.ReadSlice('\n')
		if err != nil {
			return nil, status.Usagef("several kernels are running: none was chosen")
		}
		answer := strings.TrimSpace(string(line))
		n, err := strconv.Atoi(answer)
		if err == nil && n >= 1 && n <= len(ready) {
			return []process.Identity{ready[n-1].Identity}, nil
		}
		i := slices.IndexFunc(ready, func(r Python) bool { return r.PID == n })
		if err == nil && i >= 0 {
			return []process.Identity{ready[i].Identity}, nil
		}
		if answer != "" {
			fmt.Fprintf(c.Err, "%s is neither a number of this list nor the pid of a kernel in it.\n",
				escape.Bounded(strconv.Quote(answer), 100))
		}
	}
}
