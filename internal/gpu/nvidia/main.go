// Command nvidia loads NVIDIA's libraries for a tracer that is one static file and so can load none. That tracer
// carries this program, which is built with cgo, and starts it from memory ([ipytracer/internal/gpu.Command]). It has
// the tracer's own hidden commands that load a library, and one that reads NVML once.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"ipytracer/internal/gpu"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tracer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("started by tracer itself")
	}
	switch command, rest := args[0], args[1:]; command {
	case gpu.ReadCommand:
		s, err := gpu.Read(context.Background())
		return gpu.WriteReading(os.Stdout, s, err)
	case gpu.HelperCommand:
		as, err := gpu.ParseHelper(rest)
		if err != nil {
			return err
		}
		return gpu.ServeHelper(as)
	case gpu.WorkerCommand:
		task, err := gpu.ParseTask(rest)
		if err != nil {
			return err
		}
		return task.Serve(os.Stdin, os.Stdout)
	default:
		return fmt.Errorf("%q is no command", command)
	}
}
