package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
)

// helpOf returns the output of a command's --help, into a pipe or a terminal with a number of columns.
func helpOf(t *testing.T, path []string, columns int) string {
	t.Helper()
	t.Setenv("COLUMNS", fmt.Sprint(columns))
	if columns < 0 {
		t.Setenv("COLUMNS", "")
	}
	var out, errs bytes.Buffer
	if code := run(append(path[1:], "--help"), nil, &out, &errs); code != 0 || errs.Len() > 0 {
		t.Fatalf("%v: status %d, %s", path, code, errs.String())
	}
	return out.String()
}

// TestHelpFits: each command's help has examples, fits the terminal, and names the kind of each flag's value.
func TestHelpFits(t *testing.T) {
	seen := 0
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "completion" || cmd.Name() == "help" {
			return
		}
		seen++
		for _, columns := range []int{80, 200, -1} {
			text, most := helpOf(t, strings.Fields(cmd.CommandPath()), columns), columns
			switch columns {
			case 200:
				most = widestHelp
			case -1:
				most = pipedHelp
			}
			for line := range strings.SplitSeq(text, "\n") {
				if utf8.RuneCountInString(line) > most && !strings.Contains(cmd.Example, line) && columns != 80 {
					t.Errorf("%s: %d columns of %d: %q", cmd.CommandPath(), utf8.RuneCountInString(line), most, line)
				}
			}
			for _, kind := range []string{" string ", " duration ", " int ", " strings ", " what"} {
				for line := range strings.SplitSeq(text, "\n") {
					if flag, _, _ := strings.Cut(strings.TrimSpace(line), "   "); strings.HasPrefix(line, "  ") &&
						strings.HasPrefix(flag, "-") && strings.Contains(flag+" ", kind) {
						t.Errorf("%s: %q does not name what it takes", cmd.CommandPath(), flag)
					}
				}
			}
		}
		if cmd.Example == "" && !cmd.HasSubCommands() && cmd.Name() != "version" && cmd.Name() != "uninstall" {
			t.Errorf("%s: no example", cmd.CommandPath())
		}
		for _, inner := range cmd.Commands() {
			look(inner)
		}
	}
	look(newRootCommand(console.Console{}))
	if seen < 18 {
		t.Errorf("only %d commands were looked at", seen)
	}
}

// TestWrongArguments: for missing, superfluous or misspelt arguments, one sentence names them and the command to type.
func TestWrongArguments(t *testing.T) {
	for typed, want := range map[string]string{
		"run": "run needs a COMMAND; type 'tracer run -- COMMAND [ARG ...]', " +
			"see 'tracer run --help'",
		"audit":                       "audit needs a FILE or a PID; type 'tracer audit {FILE | PID}'",
		"diff":                        "diff needs A and B; type 'tracer diff A B'",
		"merge":                       "merge needs a FILE and another FILE; type 'tracer merge FILE FILE...'",
		"limit":                       "limit needs a PID; type 'tracer limit PID [SIZE|auto|off]'",
		"gpu restore":                 "gpu restore needs a PID; type 'tracer gpu restore PID'",
		"diff a.arrows":               "wrong number of arguments; type 'tracer diff A B'",
		"attch":                       "did you mean 'tracer attach'?",
		"zzz":                         `unknown command "zzz" for "tracer"; see 'tracer --help'`,
		"attach --duration 5":         `--duration "5": must be a time such as 30s or 10m; see 'tracer attach --help'`,
		"report x --cells many":       `--cells "many": must be a whole number; see 'tracer report --help'`,
		"serve --per-user \x1b[2Jx":   `--per-user "\x1b[2Jx": must be a whole number`,
		"attach 4242 --by nonsense":   `--by "nonsense": must be cpu.`,
		"attach 4242 --strict=rubies": "must be figures, attribution or all",
	} {
		var out, errs bytes.Buffer
		code := run(strings.Fields(typed), nil, &out, &errs)
		if got := errs.String(); code != console.WrongUsage || !strings.Contains(got, want) ||
			strings.Count(got, "\n") != 1 || strings.Contains(got, "\x1b") {
			t.Errorf("tracer %s: status %d, %q, want %q", typed, code, got, want)
		}
	}
}
