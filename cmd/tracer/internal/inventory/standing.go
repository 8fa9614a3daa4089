package inventory

import (
	"context"
	"fmt"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/words"
	"ipytracer/tracer"
)

// Stand prints where the user stands, for a command line without a command: the kernels that this user sees, whether
// this user may trace them, and the command to type next.
func Stand(ctx context.Context, c console.Console) error {
	list, err := List(ctx, false)
	if err != nil {
		return err
	}
	sayCut(c, &list)
	if len(list.Rows) > 0 {
		if err := printKernels(c.Out, list.Rows); err != nil {
			return err
		}
	}
	for _, line := range standing(list, tracer.MayTrace()) {
		if _, err := fmt.Fprintln(c.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// standing returns the lines below the list of kernels.
func standing(list Listing, mayTrace bool) (lines []string) {
	sudo := "sudo "
	if mayTrace {
		sudo = ""
	}
	switch {
	case len(list.Rows) == 0:
		lines = append(lines, "No running IPython or Jupyter kernel was found. Start one, then type: "+sudo+
			"tracer attach", "Or start it traced, from its first instruction: "+sudo+"tracer run -- jupyter lab")
	case len(list.Rows) == 1:
		lines = append(lines, fmt.Sprintf("To see what each of its cells needs, type: %stracer attach %d", sudo,
			list.Rows[0].PID))
	default:
		lines = append(lines, "To see what each of their cells needs, type: "+sudo+
			"tracer attach   (it asks which one)")
	}
	if list.Hidden > 0 {
		lines = append(lines, fmt.Sprintf("%s of other users are not shown: sudo tracer kernels",
			words.Plural(list.Hidden, "Python")))
	}
	if !mayTrace {
		lines = append(lines, "Tracing loads programs into the Linux kernel, so it needs root. Without root, "+
			"'%load_ext ipytracer' in a notebook reads figures inside its process.")
	}
	return append(lines, "Whether this machine can trace: "+sudo+"tracer doctor. All commands: tracer --help")
}
