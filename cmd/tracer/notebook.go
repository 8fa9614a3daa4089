package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/host/privileges"
	"ipytracer/internal/report/escape"
	"ipytracer/python"
)

// newNotebookCommand returns the command that installs the notebook's companion for a Python, or removes it.
func newNotebookCommand(c console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notebook",
		Short: "Install the notebook companion, which shows the figures under each cell",
		Args:  console.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return console.Usagef("say 'tracer notebook install' or 'tracer notebook uninstall'")
		},
	}
	cmd.AddCommand(
		newNotebookAction(c, "install", "Put the companion where a Python finds it",
			"Put the Python package ipytracer, which is part of this program, where the interpreter finds it: "+
				"among its packages if you may write there, else\n"+
				"among your own. In a notebook then: %load_ext ipytracer. It needs no root; "+
				"with sudo it is done as the user who typed it."),
		newNotebookAction(c, "uninstall", "Take the companion away that 'tracer notebook install' has put there", ""),
	)
	return cmd
}

func newNotebookAction(c console.Console, action, short, long string) *cobra.Command {
	var interpreter string
	cmd := &cobra.Command{
		Use:     action,
		Short:   short,
		Long:    long,
		Example: "  tracer notebook " + action + "\n  tracer notebook " + action + " --python ~/venv/bin/python",
		Args:    console.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runNotebook(cmd.Context(), c, action, interpreter)
		},
	}
	cmd.Flags().StringVar(&interpreter, "python", "python3", "the `PYTHON` whose packages are meant, by name or path")
	return cmd
}

// installResult is the output of python/install.py.
type installResult struct {
	Folder  string `json:"folder"`
	Version string `json:"version"`
	Lab     string `json:"lab"` // the place of JupyterLab's extension
	Error   string `json:"error"`
}

func runNotebook(ctx context.Context, c console.Console, action, interpreter string) error {
	path, err := exec.LookPath(interpreter)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return console.Usagef("%q is not a program; name the Python with --python", interpreter)
	}
	who, err := privileges.FindInvoker()
	if err != nil {
		return err
	}
	result, err := install(ctx, who, path, action)
	if err != nil {
		return err
	}
	if result.Error != "" {
		return errors.New(escape.Text(result.Error))
	}
	folder := escape.Text(result.Folder)
	if action == "uninstall" {
		_, err = fmt.Fprintf(c.Out, "The companion is gone from %s.\n", folder)
		return err
	}
	lab := "JupyterLab's extension is there too: reload the page"
	if result.Lab == "" {
		lab = "JupyterLab's extension was left out: you may not make files where it belongs"
	}
	_, err = fmt.Fprintf(c.Out, "ipytracer %s is in %s. In a notebook: %%load_ext ipytracer\n%s.\n",
		escape.Text(result.Version), folder, lab)
	return err
}

// install makes an interpreter install the package, or uninstall it, as the user of the command.
func install(ctx context.Context, who *privileges.Invoker, interpreter, action string) (
	result installResult, err error,
) {
	packed, err := python.Package()
	if err != nil {
		return result, err
	}
	cmd := exec.CommandContext(ctx, interpreter, "-c", python.Install, action)
	if err := who.Dress(cmd); err != nil {
		return result, err
	}
	var out, errs console.Head
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = "/", bytes.NewReader(packed), &out, &errs
	runErr := cmd.Run()
	if json.Unmarshal(out.Text, &result) == nil && (result.Error != "" || result.Folder != "") {
		return result, nil
	}
	text := cmp.Or(strings.TrimSpace(strings.ToValidUTF8(string(errs.Text), "?")), fmt.Sprint(runErr))
	return result, fmt.Errorf("%s is not a working Python: %s",
		interpreter, escape.Bounded(text[strings.LastIndexByte(text, '\n')+1:], 200))
}
