package words_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/words"
)

// TestTerms: each name has one explanation of at most two sentences, and the page that it names has that section.
func TestTerms(t *testing.T) {
	seen := map[string]bool{}
	for _, term := range words.Terms() {
		for _, name := range term.Names {
			if seen[strings.ToLower(name)] {
				t.Errorf("%q has two explanations", name)
			}
			seen[strings.ToLower(name)] = true
			if got, known := words.Explain(name); !known || got.Text != term.Text {
				t.Errorf("%q: %+v", name, got)
			}
		}
		ends := regexp.MustCompile(`[.:] `).FindAllString(term.Text, -1)
		if len(ends) > 2 || !strings.HasSuffix(term.Text, ".") {
			t.Errorf("%s: not one or two sentences: %s", term.Names[0], term.Text)
		}
		file, section, _ := strings.Cut(term.Page, "#")
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", file))
		if err != nil {
			t.Error(err)
		} else if section != "" && !slices.Contains(sections(string(page)), section) {
			t.Errorf("%s: %s has no section %q: %v", term.Names[0], file, section, sections(string(page)))
		}
	}
}

// sections returns the names of a page's sections as links have them.
func sections(page string) (names []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// TestEachMeterIsExplained: a meter has an explanation by its id and by the title of its column.
func TestEachMeterIsExplained(t *testing.T) {
	for _, f := range event.Meters() {
		id := f.ID
		if f.Meter >= event.CPUMeters {
			id = "gpu.3." + id
		}
		byID, known := words.Explain(id)
		if byTitle, _ := words.Explain(words.Meter(id)); !known || byTitle.Text != byID.Text {
			t.Errorf("%s: %q, %s: %q", id, byID.Text, words.Meter(id), byTitle.Text)
		}
	}
}

// printedWords are where the sources of this repository name what a reader sees: the columns and fields of reports,
// the first lines, the columns of the page and of the companion.
var printedWords = []struct {
	files, mention string
}{
	{"../report/sheet/*.go", `doc\.(?:Left|Right|Flex|Bytes)\("([^"]*)"\)`},
	{"../report/sheet/*.go", `\.(?:Field|list|Answer|AnswerIn)\("([^"]*)"`},
	{"../report/text/*.go", `doc\.(?:Left|Right|Flex|Bytes)\("([^"]*)"\)`},
	{"../report/text/*.go", `\.(?:Field|list|Answer|AnswerIn)\("([^"]*)"`},
	{"../report/doc/endings.go", `\.(?:Field|Answer)\("([^"]*)"`},
	{"../words/quantities.go", `= Quantity\{"([^"]*)"`},
	{"../report/html/page/src/*.ts", `">([a-z ]*)"`},
	{"../report/html/page/src/cell.ts", `table\(\s*\["([^"]*)"`},
	{"../report/html/page/src/sections.ts", `table\(\s*\["([^"]*)"`},
	{"../../python/src/ipytracer/_text.py", `Part\(\s*"([^"]*)"`},
}

// heads are lists of columns.
var heads = []struct {
	files, list string
}{
	{"../report/html/page/src/*.ts", `table\(\s*\[((?:"[^"]*",? ?|\.\.\.[^"]*, )+)`},
	{"../../python/src/ipytracer/*.py", `Table\(\[((?:"[^"]*",? ?)+)\]`},
}

// TestEachPrintedWordIsExplained: what stands above or in front of a figure in a report, on the page or in a notebook
// has an explanation.
func TestEachPrintedWordIsExplained(t *testing.T) {
	check := func(file, word string) {
		if word = strings.Trim(word, "> …"); word != "" && words.Meaning(word) == "" {
			t.Errorf("%s: %q has no explanation", file, word)
		}
	}
	found := 0
	each := func(files, expression string, visit func(file, match string)) {
		paths, err := filepath.Glob(files)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v", files, err)
		}
		for _, path := range paths {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, m := range regexp.MustCompile(expression).FindAllStringSubmatch(string(source), -1) {
				found++
				visit(path, m[1])
			}
		}
	}
	for _, p := range printedWords {
		each(p.files, p.mention, check)
	}
	for _, p := range heads {
		each(p.files, p.list, func(file, list string) {
			for _, m := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(list, -1) {
				check(file, m[1])
			}
		})
	}
	if found < 100 {
		t.Errorf("only %d words were found", found)
	}
}

// TestSimilar: a word that no report has is like some that reports have, or like none.
func TestSimilar(t *testing.T) {
	for word, want := range map[string]string{"peek": "peak", "consume": "consumed", "residnet": "resident",
		"xyzzy": "", "free": "to free it", strings.Repeat("peak", 1000): ""} {
		got := words.Similar(word)
		if want == "" && len(got) > 0 || want != "" && !slices.Contains(got, want) || len(got) > 3 {
			t.Errorf("%.20s: %q, want %q", word, got, want)
		}
		if words.Meaning(word) != "" {
			t.Errorf("%.20s has an explanation", word)
		}
	}
}
