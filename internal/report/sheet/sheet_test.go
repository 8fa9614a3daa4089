package sheet_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"ipytracer/internal/compare"
	"ipytracer/internal/plan"
	"ipytracer/internal/report/doc"
	"ipytracer/internal/report/reporttest"
	"ipytracer/internal/report/sheet"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// attack is a text by which a notebook may try to escape from its place.
const attack = "</code></td><script>alert(1)</script><img src=x onerror=alert(2)> ``` | [x](javascript:alert(3)) " +
	"@everyone https://evil.example &lt; {{.}} \"'> <!-- ]]> \n# heading\n"

// hostile returns a session in which every text is an attack.
func hostile() *model.Report {
	r := reporttest.Hostile()
	for i := range r.Windows {
		w := &r.Windows[i]
		w.Source = attack + w.Source
		for k := range w.Allocations {
			for j := range w.Allocations[k].Stack {
				w.Allocations[k].Stack[j].Function, w.Allocations[k].Stack[j].File = attack, attack
			}
			w.Allocations[k].Allocated = max(w.Allocations[k].Allocated, 1)
		}
	}
	for i := range r.Processes {
		r.Processes[i].Command, r.Processes[i].Python = attack, attack
	}
	r.Certificate.Problems = append(r.Certificate.Problems, attack)
	return r
}

func hostileDiff(t *testing.T, a, b *model.Report) *model.Diff {
	t.Helper()
	limits, err := compare.ParseLimits("10%")
	if err != nil {
		t.Fatal(err)
	}
	d, err := compare.Runs(compare.Read(attack+"/a", a), compare.Read("b"+attack, b),
		compare.Options{Least: 1 << 20, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// pages returns all there are, of fixtures and of attacks, by name; HTML and then Markdown.
func pages(t *testing.T) map[string][2][]byte {
	t.Helper()
	out := map[string][2][]byte{}
	render := func(name string, d *doc.Document) {
		var a, b bytes.Buffer
		if err := errors.Join(d.HTML(&a), d.Markdown(&b)); err != nil {
			t.Fatal(err)
		}
		out[name] = [2][]byte{a.Bytes(), b.Bytes()}
	}
	reports := map[string]func() *model.Report{"attack": hostile}
	for name, r := range reporttest.Reports {
		reports[name] = r
	}
	for name, r := range reports {
		for _, d := range []*model.Diff{
			hostileDiff(t, r(), reporttest.Rich()), hostileDiff(t, reporttest.Rich(), r()),
		} {
			render("diff "+name, sheet.Diff(d, sheet.Options{}))
		}
		p := plan.Make([]*plan.Run{plan.Read(attack, r()), plan.Read("b", reporttest.Rich())})
		render("plan "+name, sheet.Plan(p, sheet.Options{}))
	}
	bad := reporttest.Audited()
	bad.Processes[0].Command, bad.Held[0].Holder, bad.NotJudged[0].Why = attack, attack, attack
	for i := range bad.Verdicts {
		v := &bad.Verdicts[i]
		v.Evidence, v.Advice, v.Fix, v.Kind, v.Meter = attack, attack, attack, attack, attack
		for k := range v.Stack {
			v.Stack[k].Function, v.Stack[k].File = attack, attack
		}
	}
	for name, a := range map[string]*model.Audit{
		"audit": reporttest.Audited(), "audit attack": bad, "audit clean": {},
	} {
		render(name, sheet.Audit(a, sheet.Options{}))
	}
	advised := reporttest.Advised()
	reporttest.Poison(advised)
	for name, a := range map[string]*model.Advice{
		"advice": reporttest.Advised(), "advice attack": advised, "advice none": {},
	} {
		render(name, sheet.Advice(a, sheet.Options{}))
	}
	return out
}

// TestPagesRunNothing: whatever a notebook writes, a page has only the elements that it has anyway, nothing in them
// that runs or loads, and a policy that would let nothing run.
func TestPagesRunNothing(t *testing.T) {
	elements := strings.Fields("html head meta title style body main h1 h2 dl dt dd section p pre div table " +
		"thead tbody tr th td code")
	attributes := strings.Fields("lang charset http-equiv content name scope class tabindex role aria-label")
	for name, page := range pages(t) {
		reporttest.CheckSafe(t, string(page[0]), "\n")
		d := xml.NewDecoder(bytes.NewReader(page[0]))
		d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
		policy := false
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			if !slices.Contains(elements, e.Name.Local) {
				t.Errorf("%s: <%s>", name, e.Name.Local)
			}
			for _, a := range e.Attr {
				if !slices.Contains(attributes, a.Name.Local) {
					t.Errorf("%s: <%s %s>", name, e.Name.Local, a.Name.Local)
				}
				policy = policy || strings.HasPrefix(a.Value, "default-src 'none'; style-src 'sha256-")
			}
		}
		if !policy {
			t.Errorf("%s: no policy", name)
		}
	}
}

// TestMarkdownStaysText: nothing that a notebook writes becomes a link, an image, HTML, a mention or another block.
func TestMarkdownStaysText(t *testing.T) {
	for name, page := range pages(t) {
		reporttest.CheckSafe(t, string(page[1]), "\n")
		document := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(page[1]))
		err := ast.Walk(document, func(n ast.Node, in bool) (ast.WalkStatus, error) {
			switch n.Kind() {
			case ast.KindLink, ast.KindImage, ast.KindAutoLink, ast.KindRawHTML, ast.KindHTMLBlock,
				ast.KindFencedCodeBlock, ast.KindBlockquote, ast.KindEmphasis:
				t.Errorf("%s: a %s", name, n.Kind())
			case ast.KindHeading:
				if level := n.(*ast.Heading).Level; level != 3 && level != 4 {
					t.Errorf("%s: a heading of level %d", name, level)
				}
			case ast.KindText:
				value := string(n.(*ast.Text).Segment.Value(page[1]))
				if n.Parent().Kind() != ast.KindCodeSpan && strings.ContainsAny(value, "@<") {
					t.Errorf("%s: %q is no code", name, value)
				}
			}
			return ast.WalkContinue, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPagesSayWhatTheDiffSays: figures and sources of the changes are on both pages.
func TestPagesSayWhatTheDiffSays(t *testing.T) {
	b := reporttest.Rich()
	for i := range b.Windows {
		if w := &b.Windows[i]; w.Kind == model.Cell && w.Execution == 3 {
			w.Source = strings.Replace(w.Source, "range(64)", "range(128)", 1)
			w.Meters = reporttest.All(reporttest.Fig(200<<20, 2<<30, 800<<20), reporttest.Fig(200<<20, 2<<30, 800<<20),
				reporttest.Fig(0, 1<<30, 1<<30))
		}
	}
	d, err := compare.Runs(compare.Read("/tmp/a.arrows", reporttest.Rich()), compare.Read("/tmp/b.arrows", b),
		compare.Options{Least: 1 << 20})
	if err != nil || len(d.Causes) == 0 {
		t.Fatal("no cause", err)
	}
	var html, markdown bytes.Buffer
	if err := errors.Join(sheet.Diff(d, sheet.Options{}).HTML(&html),
		sheet.Diff(d, sheet.Options{}).Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	m := d.Cells[d.Causes[0].Cell].Meters[0]
	for _, page := range []string{strings.ReplaceAll(html.String(), "&#43;", "+"), markdown.String()} {
		for _, want := range []string{
			words.Change(m.Need), words.Bytes(m.A.Need()), words.Bytes(m.B.Need()), "range(128)", words.WhyEdited,
		} {
			if !strings.Contains(page, want) {
				t.Errorf("%q is not in\n%s", want, page)
			}
		}
	}
	reporttest.Golden(t, "diff.html", html.Bytes())
	reporttest.Golden(t, "diff.md", markdown.Bytes())
	d, err = compare.Runs(compare.Read("/tmp/a.arrows", reporttest.Orders(12)),
		compare.Read("/tmp/b.arrows", reporttest.Orders(4)), compare.Options{Least: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	html.Reset()
	markdown.Reset()
	if err := errors.Join(sheet.Diff(d, sheet.Options{}).HTML(&html),
		sheet.Diff(d, sheet.Options{}).Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	follows := d.Causes[0].Follows
	for _, page := range []string{html.String(), markdown.String()} {
		// In[8] says the same
		if len(follows) != 5 || !strings.Contains(page, follows[0].Why) ||
			strings.Count(page, d.Cells[follows[4].Cell].Why) != 2 {
			t.Errorf("%+v are not in\n%s", follows, page)
		}
	}
	reporttest.Golden(t, "diff.follows.md", markdown.Bytes())
	var planned bytes.Buffer
	err = sheet.Plan(plan.Make([]*plan.Run{plan.Read("run.arrows", reporttest.Savings())}),
		sheet.Options{}).Markdown(&planned)
	if err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "plan.md", planned.Bytes())
}

// TestCodeIsWhole: code to paste has all its lines, and is not cut, as HTML and as Markdown.
func TestCodeIsWhole(t *testing.T) {
	long := "del " + strings.Repeat("a_name_of_some_length, ", 20) + "the_last"
	a := &model.Audit{
		Verdicts: []model.Verdict{
			{
				Kind: model.HeldByOutput, Meter: "cpu.numpy", Bytes: 5 << 20, Fix: "import gc\ngc.collect()",
				Stack: []model.Frame{},
			},
		},
		ToFree: []model.Freeing{{PID: 7, Type: long, Predicted: 96 << 20, Exact: true, Names: []string{}}},
	}
	var markdown, page strings.Builder
	if err := sheet.Audit(a, sheet.Options{}).Markdown(&markdown); err != nil {
		t.Fatal(err)
	}
	if err := sheet.Audit(a, sheet.Options{}).HTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"    import gc\n    gc.collect()\n", "    " + long + "\n", "96.00 MiB"} {
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("Markdown lacks %q:\n%s", want, &markdown)
		}
	}
	for _, want := range []string{"import gc\ngc.collect()", long} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("HTML lacks %q:\n%s", want, &page)
		}
	}
}
