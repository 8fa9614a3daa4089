package gpus

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
)

// commandWidth is the shown length of a command line in the table.
const commandWidth = 60

// printGPUs prints the devices, the one with most room, the processes, and everything that could not be read.
func printGPUs(w io.Writer, l inventory.GPUListing) error {
	var out strings.Builder
	fmt.Fprintf(&out, "driver %s · CUDA %s · %s\n",
		doc.Dash(l.Driver), doc.Dash(l.CUDA), words.Plural(len(l.GPUs), "GPU"))
	if len(l.GPUs) == 0 {
		_, err := io.WriteString(w, out.String())
		return err
	}
	color := console.Colored(w)
	devices := doc.NewListing(color, 3, 4, 5, 6)
	devices.Header("GPU", "NAME", "TOTAL", "USED", "FREE", "RESERVED", "PCI BUS ID", "UUID")
	processes := doc.NewListing(color, 4)
	processes.Header("GPU", "PID", "USER", "MEMORY", "KIND", "PYTHON", "IPYTHON", "FRONTEND", "COMMAND")
	var unread []string
	for _, u := range l.GPUs {
		place := strconv.Itoa(u.Index)
		devices.Row(append(append([]any{place, doc.Dash(u.Name)}, memoryCells(u.Memory)...), doc.Dash(u.PCIBusID),
			doc.Dash(u.UUID))...)
		appendProcesses(processes, place, u.Processes)
		for _, in := range u.MIG {
			place := fmt.Sprintf("%d:%d", u.Index, in.Index)
			devices.Row(append(append([]any{place, doc.Dash(in.Name)}, memoryCells(in.Memory)...), "",
				doc.Dash(in.UUID))...)
			appendProcesses(processes, place, in.Processes)
		}
		if u.MIGMode == "on" && len(u.MIG) == 0 {
			unread = append(unread, fmt.Sprintf("GPU %d is in MIG mode and has no MIG device that can be seen",
				u.Index))
		}
		for _, one := range u.Unread {
			unread = append(unread, fmt.Sprintf("GPU %d: %s", u.Index, escape.Text(one)))
		}
	}
	fmt.Fprintf(&out, "\n%s\n", devices)
	if m := l.MostFree; m != nil {
		place := strconv.Itoa(m.Index)
		if m.MIG != nil {
			place += ":" + strconv.Itoa(*m.MIG)
		}
		fmt.Fprintf(&out, "\nmost free memory: GPU %s (%s), %s\n", place, doc.Dash(m.Name), words.Bytes(m.Free))
	}
	if processes.Len() > 0 {
		fmt.Fprintf(&out, "\n%s\n", processes)
	} else {
		out.WriteString("\nno process is known to hold GPU memory\n")
	}
	for i, one := range unread {
		if i == 0 {
			out.WriteString("\nnot known:\n")
		}
		fmt.Fprintf(&out, "  %s\n", one)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func memoryCells(m *inventory.Memory) []any {
	if m == nil {
		return []any{"-", "-", "-", "-"}
	}
	return []any{words.Bytes(m.Total), words.Bytes(m.Used), words.Bytes(m.Free), bytesOrDash(m.Reserved)}
}

func bytesOrDash(n *int64) string {
	if n == nil {
		return "-"
	}
	return words.Bytes(*n)
}

func appendProcesses(t *doc.Listing, place string, list []inventory.GPUProcess) {
	for _, p := range list {
		used := "not available"
		if p.Used != nil {
			used = words.Bytes(*p.Used)
		}
		pid, command := strconv.Itoa(p.PID), shorten(escape.Text(p.Command))
		if p.InnerPID != p.PID && p.Seen {
			pid += fmt.Sprintf(" (inside %d)", p.InnerPID)
		}
		if !p.Seen {
			command = "ended, or not visible from here"
		}
		t.Row(place, pid, doc.Dash(p.User), used, strings.Join(p.Kinds, "+"), doc.Dash(p.Python),
			doc.Dash(p.IPython), doc.Dash(p.Frontend), command)
	}
}

// shorten cuts a line that is printable already.
func shorten(line string) string {
	if utf8.RuneCountInString(line) <= commandWidth {
		return line
	}
	return string([]rune(line)[:commandWidth-1]) + "…"
}
