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
	"ipytracer/cmd/tracer/internal/status"
	"ipytracer/internal/host/invoker"
	"ipytracer/internal/report/escape"
	"ipytracer/python"
)

// newNotebookCommand installs the notebook's companion where an interpreter finds it.
func newNotebookCommand(c console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notebook",
		Short: "Install the notebook companion, which shows the figures under each cell",
		Args:  status.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return status.Usagef("say 'tracer notebook install' or 'tracer notebook uninstall'")
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
		Args:    status.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runNotebook(cmd.Context(), c, action, interpreter)
		},
	}
	cmd.Flags().StringVar(&interpreter, "python", "python3", "the `PYTHON` whose packages are meant, by name or path")
	return cmd
}

// installed is the output of python/install.py.
type installed struct {
	Folder  string `json:"folder"`
	Version string `json:"version"`
	Lab     string `json:"lab"` // the place of JupyterLab's extension
	Error   string `json:"error"`
}

func runNotebook(ctx context.Context, c console.Console, action, interpreter string) error {
	path, err := exec.LookPath(interpreter)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return status.Usagef("%q is not a program; name the Python with --python", interpreter)
	}
	who, err := invoker.Find()
	if err != nil {
		return err
	}
	done, err := install(ctx, who, path, action)
	if err != nil {
		return err
	}
	if done.Error != "" {
		return errors.New(escape.Text(done.Error))
	}
	folder := escape.Text(done.Folder)
	if action == "uninstall" {
		_, err = fmt.Fprintf(c.Out, "The companion is gone from %s.\n", folder)
		return err
	}
	lab := "JupyterLab's extension is there too: reload the page"
	if done.Lab == "" {
		lab = "JupyterLab's extension was left out: you may not make files where it belongs"
	}
	_, err = fmt.Fprintf(c.Out, "ipytracer %s is in %s. In a notebook: %%load_ext ipytracer\n%s.\n",
		escape.Text(done.Version), folder, lab)
	return err
}

// install makes an interpreter add the package to its packages, or remove it, as the user of the command.
func install(ctx context.Context, who *invoker.Invoker, interpreter, action string) (done installed, err error) {
	packed, err := python.Package()
	if err != nil {
		return done, err
	}
	cmd := exec.CommandContext(ctx, interpreter, "-c", python.Install, action)
	if err := who.Dress(cmd); err != nil {
		return done, err
	}
	var out, errs console.Head
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = "/", bytes.NewReader(packed), &out, &errs
	failed := cmd.Run()
	if json.Unmarshal(out.Text, &done) == nil && (done.Error != "" || done.Folder != "") {
		return done, nil
	}
	text := cmp.Or(strings.TrimSpace(strings.ToValidUTF8(string(errs.Text), "?")), fmt.Sprint(failed))
	return done, fmt.Errorf("%s is not a working Python: %s",
		interpreter, escape.Bounded(text[strings.LastIndexByte(text, '\n')+1:], 200))
}
