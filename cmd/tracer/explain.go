package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/escape"
	"ipytracer/internal/words"
)

func newExplainCommand(c console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [WORD]",
		Short: "Say what a word of a report means",
		Long: "Say in a sentence or two what a WORD of a report means: a question of its first lines, a column, a " +
			"meter, a mark. Without a WORD it lists all of them. The page of a session has the same sentences where " +
			"the pointer rests on a word, and under its key '?'.",
		Example: "  tracer explain need\n  tracer explain still there\n  tracer explain cpu.mapped\n" +
			"  tracer explain '≥'\n  tracer explain",
		Args: console.Args(cobra.ArbitraryArgs),
		RunE: func(_ *cobra.Command, args []string) error {
			if word := strings.Join(args, " "); strings.TrimSpace(word) != "" {
				return explain(c.Out, word)
			}
			return explainAll(c.Out)
		},
	}
}

// explain writes what a word means, with its other names and the page that says more.
func explain(w io.Writer, word string) error {
	term, known := words.Explain(word)
	if !known {
		return unknownWord(word)
	}
	d := &doc.Document{}
	d.Prose("", doc.Bold(term.Names[0]+": "), term.Text)
	if also := term.Names[1:]; len(also) > 0 {
		d.Prose("", doc.Dim("also: "+strings.Join(also, ", ")))
	}
	d.Prose("", doc.Dim("more: docs/"+term.Page))
	return d.Text(w, size(w))
}

// unknownWord is the error for a word that no report has. It names the words that are most like it.
func unknownWord(word string) error {
	word = escape.Bounded(word, 40)
	if similar := words.Similar(word); len(similar) > 0 {
		return console.Usagef("no report has the word '%s'; similar ones are: %s", word, strings.Join(similar, ", "))
	}
	return console.Usagef("no report has the word '%s'; 'tracer explain' lists all", word)
}

// explainAll writes what all words mean.
func explainAll(w io.Writer) error {
	t := doc.NewTable(doc.Left("word"), doc.Flex("meaning"))
	for _, term := range words.Terms() {
		t.Row(term.Names[0], term.Text)
	}
	d := &doc.Document{}
	d.Table(t)
	if err := d.Text(w, size(w)); err != nil {
		return fmt.Errorf("list the words: %w", err)
	}
	return nil
}

// size returns what a terminal can show.
func size(w io.Writer) doc.Size {
	return doc.Size{Width: max(console.Width(w), 0), Color: console.Colored(w)}
}
