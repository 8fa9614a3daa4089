//go:build !agent

package service

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"ipytracer/cmd/tracer/internal/console"
)

// agentProgram is the name of the program that has the agent, in the folder of this one. It is this program built with
// the libraries for Kubernetes and OpenTelemetry, which are large.
const agentProgram = "tracer-agent"

func runAgent(cmd *cobra.Command, _ agentOptions, _ console.Console) error { return becomeAgent(cmd) }

func checkAgent(cmd *cobra.Command, _ agentOptions, _ console.Console) error { return becomeAgent(cmd) }

// becomeAgent executes the agent's program with the command's flags. It returns only if that fails.
func becomeAgent(cmd *cobra.Command) error {
	own, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the agent's program: %w", err)
	}
	path := filepath.Join(filepath.Dir(own), agentProgram)
	if err := checkSibling(path, own); err != nil {
		return err
	}
	arguments := []string{path, "agent"}
	if cmd.Name() != "agent" {
		arguments = append(arguments, cmd.Name())
	}
	cmd.Flags().Visit(func(f *pflag.Flag) { arguments = append(arguments, "--"+f.Name+"="+f.Value.String()) })
	return fmt.Errorf("start %s: %w", path, unix.Exec(path, arguments, os.Environ()))
}

// checkSibling returns an error if others than root and the owner of its sibling can change the program at path. Root
// will execute it, and in a folder such as /tmp anybody can put a file beside the tracer.
func checkSibling(path, sibling string) error {
	var own, other unix.Stat_t
	if err := unix.Stat(sibling, &own); err != nil {
		return fmt.Errorf("look at %s: %w", sibling, err)
	}
	err := unix.Lstat(path, &other)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the agent is a program of its own, and %s is not there: "+
			"it is in the Debian package, in the image and beside the released tracer; 'make build' builds it", path)
	case err != nil:
		return fmt.Errorf("look at %s: %w", path, err)
	case other.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%s is not started: it is not a regular file", path)
	case other.Uid != 0 && other.Uid != own.Uid:
		return fmt.Errorf("%s is not started: its owner is neither root nor the owner of %s", path, sibling)
	case other.Mode&0o002 != 0, other.Mode&0o020 != 0 && !sharesWritableGroup(&own, &other):
		return fmt.Errorf("%s is not started: others than its owner can write to it; type 'chmod go-w %s'", path, path)
	}
	return nil
}

// sharesWritableGroup reports whether the group of other may write to own, too.
func sharesWritableGroup(own, other *unix.Stat_t) bool {
	return own.Mode&0o020 != 0 && other.Gid == own.Gid
}
