package doc

import (
	"strings"

	"ipytracer/internal/report/escape"
)

// Form is a way to say an answer, with the code in it, which is not wrapped.
type Form struct {
	Text string
	Code []string
}

// AnswerIn adds one of the first lines that has several forms, the longest first. [Document.FitAnswers] chooses one;
// without that it is the first. A form without a text leaves the answer out.
func (d *Document) AnswerIn(question string, forms ...Form) {
	d.add(firstLine{Answer{question, forms[0].Text}, forms[0].Code, forms[1:]})
}

// Len returns the number of the document's blocks.
func (d *Document) Len() int { return len(d.blocks) }

// FitAnswers shortens the answers among the blocks behind the first from ones, and returns how many lines they take.
// While they take more than wanted lines, the longest gets a shorter form, of several the last; one of one form is
// cut behind its second line. If they then take more than most lines, they are cut behind their first line, in the same
// order. Answers with code are never cut, but get their form without code if that is not enough. The numbers are for 80
// columns, and larger for fewer. Without a width nothing is shortened.
func (d *Document) FitAnswers(size Size, from, wanted, most int) (taken int) {
	if size.Width == 0 {
		return 0
	}
	const columns = 80
	limits := [...]int{wanted, most, most}
	for i, shorten := range []func(firstLine, int) (firstLine, bool){
		firstLine.shorter, firstLine.oneLine, firstLine.codeless,
	} {
		limit := limits[i] * max(columns, size.Width) / size.Width
		for {
			longest, at, shorter := 0, 0, firstLine{}
			taken = 0
			for i := from; i < len(d.blocks); i++ {
				a, ok := d.blocks[i].part.(firstLine)
				if !ok {
					continue
				}
				lines := a.lines(size.Width)
				taken += lines
				if lines >= longest && lines > 1 {
					if b, ok := shorten(a, size.Width); ok {
						longest, at, shorter = lines, i, b
					}
				}
			}
			if taken <= limit || longest == 0 {
				break
			}
			d.blocks[at].part = shorter
		}
	}
	return taken
}

// lines returns the number of a terminal's lines that an answer takes: code that is not wrapped may take several.
func (a firstLine) lines(width int) (n int) {
	p := &printer{width: width}
	p.answer(a)
	for line := range strings.Lines(p.b.String()) {
		n += max(1, (escape.Cells(strings.TrimSuffix(line, "\n"))+width-1)/width)
	}
	return n
}

// shorter returns the next form with fewer lines. ok is false if there is none.
func (a firstLine) shorter(width int) (shorter firstLine, ok bool) {
	before := a.lines(width)
	for i, f := range a.forms {
		next := firstLine{Answer{a.Question, f.Text}, f.Code, a.forms[i+1:]}
		if next.lines(width) < before && (len(f.Code) > 0) == (len(a.code) > 0) {
			return next, true
		}
	}
	const least = 2
	if len(a.forms) > 0 || len(a.code) > 0 || before <= least {
		return a, false
	}
	return a.cut(width, before-1)
}

// codeless returns an answer's last form, if that alone has no code.
func (a firstLine) codeless(int) (shorter firstLine, ok bool) {
	if len(a.code) == 0 || len(a.forms) == 0 {
		return a, false
	}
	last := a.forms[len(a.forms)-1]
	return firstLine{Answer{a.Question, last.Text}, last.Code, nil}, len(last.Code) == 0
}

// oneLine returns an answer cut behind its first line. ok is false if it has no more.
func (a firstLine) oneLine(width int) (shorter firstLine, ok bool) {
	if a.lines(width) == 1 {
		return a, false
	}
	return a.cut(width, 1)
}

// cut returns an answer cut behind so many lines, with an ellipsis. ok is false for an answer with code.
func (a firstLine) cut(width, lines int) (shorter firstLine, ok bool) {
	whole := escape.Text(a.Text) + "…"
	for cells := lines * (width - answerColumn); len(a.code) == 0 && cells > 0; cells -= 2 {
		shorter = a
		if shorter.Text = escape.Cut(whole, cells); shorter.lines(width) <= lines {
			return shorter, true
		}
	}
	return a, false
}
