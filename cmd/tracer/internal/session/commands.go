package session

import (
	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
)

// Commands returns the commands attach, run, top and limit.
func Commands(c console.Console) []*cobra.Command {
	return []*cobra.Command{newAttachCommand(c), newRunCommand(c), newTopCommand(c), newLimitCommand(c)}
}
