package console

import (
	"fmt"
	"strings"

	"ipytracer/internal/host/process"
	"ipytracer/internal/report/escape"
)

// maxProgram is the shown length of a program's name, in characters.
const maxProgram = 60

// notPython describes a process that is not a Python.
func notPython(pid int) string {
	program := ""
	if what := programOf(process.FS{}, pid); what != "" {
		program = " but " + what
	}
	return fmt.Sprintf("process %d is not a Python%s (no CPython interpreter is mapped in it); "+
		"'tracer kernels' lists what can be attached to", pid, program)
}

// programOf returns the name of a process, and its command line if that differs; "" if unknown. The process can choose
// both.
func programOf(fs process.FS, pid int) string {
	stat, err := fs.Proc(pid).Stat()
	if err != nil {
		return ""
	}
	name := escape.OneLine(stat.Comm, false, maxProgram)
	if stat.KernelThread() {
		return fmt.Sprintf("a thread of the Linux kernel, %s", name)
	}
	command, err := fs.Proc(pid).Cmdline()
	if err != nil || len(command.Args) == 0 {
		return name
	}
	line := escape.OneLine(strings.Join(command.Args, " "), false, maxProgram)
	if line == "" || line == name {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, line)
}
