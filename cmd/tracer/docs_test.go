package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ipytracer/cmd/tracer/internal/console"
)

// documents returns the texts of all pages, by their paths from the module's folder.
func documents(t *testing.T) map[string]string {
	t.Helper()
	root, all := filepath.Join("..", ".."), map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d pages", len(all))
	}
	return all
}

var (
	fences  = regexp.MustCompile("(?ms)^\\s*```(\\w*)\\n(.*?)^\\s*```")
	links   = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	spans   = regexp.MustCompile("`([^`\n]+)`")
	notWord = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns the names that GitHub gives a page's headings.
func anchors(text string) (all []string) {
	for _, found := range heading.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
		name := notWord.ReplaceAllString(strings.ToLower(strings.TrimSpace(found[1])), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}

// target is a target of a page's link, by its path from the module's folder. anchor is the heading's name, or "".
type target struct{ typed, path, anchor string }

// targets returns the files of the repository that a page links to.
func targets(name, text string) (all []target) {
	for _, found := range links.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
		file, anchor, _ := strings.Cut(found[1], "#")
		if strings.Contains(file, "://") || strings.HasPrefix(file, "mailto:") {
			continue
		}
		to := name
		if file != "" {
			to = filepath.Join(filepath.Dir(name), file)
		}
		all = append(all, target{found[1], to, anchor})
	}
	return all
}

// TestLinksOfPagesHaveTargets: every target of a page's links exists, its heading included.
func TestLinksOfPagesHaveTargets(t *testing.T) {
	pages := documents(t)
	for name, text := range pages {
		for _, to := range targets(name, text) {
			if _, err := os.Stat(filepath.Join("..", "..", to.path)); err != nil {
				t.Errorf("%s: %s is not there", name, to.typed)
				continue
			}
			page, ok := pages[to.path]
			if ok && to.anchor != "" && !slices.Contains(anchors(page), to.anchor) {
				t.Errorf("%s: %s has no heading %q", name, to.path, to.anchor)
			}
		}
	}
}

// TestPagesAreReachable: every page of docs can be reached from docs/README.md by links.
func TestPagesAreReachable(t *testing.T) {
	pages, reached := documents(t), map[string]bool{}
	for next := []string{"docs/README.md"}; len(next) > 0; next = next[1:] {
		if page := next[0]; !reached[page] {
			reached[page] = true
			for _, to := range targets(page, pages[page]) {
				next = append(next, to.path)
			}
		}
	}
	of := 0
	for page := range pages {
		if !strings.HasPrefix(page, "docs/") {
			continue
		}
		if of++; !reached[page] {
			t.Errorf("no link leads to %s from docs/README.md", page)
		}
	}
	if of < 50 {
		t.Errorf("%d pages", of)
	}
}

// command is a tracer command line in a page: its words behind the program's name.
var command = regexp.MustCompile(`(?:^|[\s;&|(])(?:bin/)?tracer ([a-z][^\n|;&>#]*)`)

// TestCommandsInPagesExist: commands and flags in the pages' examples exist.
func TestCommandsInPagesExist(t *testing.T) {
	root := newRootCommand(console.Console{})
	seen := 0
	for name, text := range documents(t) {
		var examples []string
		for _, block := range fences.FindAllStringSubmatch(text, -1) {
			if block[1] != "sh" && block[1] != "console" {
				continue
			}
			for line := range strings.SplitSeq(strings.ReplaceAll(block[2], "\\\n", " "), "\n") {
				if block[1] == "sh" || strings.HasPrefix(strings.TrimSpace(line), "$ ") {
					examples = append(examples, line)
				}
			}
		}
		for _, span := range spans.FindAllStringSubmatch(fences.ReplaceAllString(text, ""), -1) {
			examples = append(examples, span[1])
		}
		for _, example := range examples {
			for _, found := range command.FindAllStringSubmatch(example, -1) {
				seen++
				if wrong := wrongIn(root, strings.Fields(found[1])); wrong != "" {
					t.Errorf("%s: %q: %s", name, strings.TrimSpace(example), wrong)
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d commands were looked at", seen)
	}
}

// wrongIn returns the first word of a command line that is no command or flag, "" if there is none.
func wrongIn(root *cobra.Command, words []string) string {
	cmd, rest, err := root.Find(words[:1])
	if err != nil || cmd == root || len(rest) > 0 {
		return words[0] + " is no command"
	}
	if len(words) > 1 && cmd.HasSubCommands() {
		if inner, _, err := cmd.Find(words[1:2]); err == nil && inner != cmd {
			cmd, words = inner, words[1:]
		}
	}
	for _, word := range words[1:] {
		if word == "--" {
			return ""
		}
		word, _, _ = strings.Cut(strings.Trim(word, ".,…)]'\""), "=")
		var flag *pflag.Flag
		switch {
		case len(word) > 2 && strings.HasPrefix(word, "--"):
			flag = cmd.Flag(word[2:])
		case len(word) == 2 && word[0] == '-' && word[1] != '-':
			flag = cmd.Flags().ShorthandLookup(word[1:])
		default:
			continue
		}
		if flag == nil && word != "--help" && word != "-h" {
			return word + " is no flag of " + words[0]
		}
	}
	return ""
}

// TestReadmeIsShort: the README is short, because it is for readers who have never seen the project.
func TestReadmeIsShort(t *testing.T) {
	if n := len(strings.Fields(documents(t)["README.md"])); n > 900 {
		t.Errorf("README.md has %d words, at most 900", n)
	}
}

// TestTypesWhatIsInstalled: the README and the tutorial install the program, by existing targets, before they use its
// name. No page uses the path of the build.
func TestTypesWhatIsInstalled(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := regexp.MustCompile(`\bmake ([a-z][a-z0-9-]*)`)
	for name, text := range documents(t) {
		installed := name != "README.md" && name != filepath.Join("docs", "tutorial.md")
		for _, block := range fences.FindAllStringSubmatch(text, -1) {
			if block[1] != "sh" { // a session in a console block is to be read, not to be typed
				continue
			}
			for line := range strings.SplitSeq(block[2], "\n") {
				line, _, _ = strings.Cut(line, "  #")
				for _, target := range targets.FindAllStringSubmatch(line, -1) {
					if !regexp.MustCompile(`(?m)^` + target[1] + `:`).Match(makefile) {
						t.Errorf("%s: %q: the Makefile has no %s", name, line, target[1])
					}
					installed = installed || target[1] == "install"
				}
				switch {
				case strings.Contains(line, "bin/tracer") && !strings.HasPrefix(line, "sudo install "):
					t.Errorf("%s: %q: the program is not typed by its name", name, line)
				case command.MatchString(line) && !installed:
					t.Errorf("%s: %q: the page has not installed tracer", name, line)
				}
			}
		}
	}
}

// paths finds files and folders of the repository in a page, by their paths from its top.
var paths = regexp.MustCompile(
	"`((?:attribution|bench|bpf|cmd|docs|e2e|event|internal|model|python|report|scripts|testdata|tracer)/[\\w./@-]+)`")

// TestPathsInPagesExist: files and folders that the pages name exist.
func TestPathsInPagesExist(t *testing.T) {
	seen := 0
	for name, text := range documents(t) {
		for _, found := range paths.FindAllStringSubmatch(text, -1) {
			seen++
			if strings.Contains(found[1], "NAME") || strings.HasSuffix(found[1], "/fuzz/") { // one of several
				continue
			}
			if _, err := os.Stat(filepath.Join("..", "..", found[1])); err != nil {
				t.Errorf("%s: %s is not there", name, found[1])
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d paths were looked at", seen)
	}
}
