package text

import (
	"fmt"
	"strings"

	"ipytracer/model"
	"ipytracer/model/words"
	"ipytracer/report/escape"
)

// lead says in a few lines what most people came for: the highest moment of what came nearest to its limit, what it was made of, what of it
// is still there, what to delete, and how sure all that is.
func (v *view) lead() {
	v.endings()
	if !v.leads() {
		return
	}
	v.leadHighest()
	v.leadLeft()
	v.answer("how sure", highestMoment(v).howSure())
}

// leads reports whether there is a highest moment to lead with.
func (v *view) leads() bool { return len(v.meters) > 0 && len(v.ranked) > 0 }

// leadHighest is the part about the highest moment.
func (v *view) leadHighest() {
	top := highestMoment(v)
	other := func(name string, front bool) {
		if text := v.near.beside(v.first(), front, v.o.By != "", top.figure(), v.whereOf); text != "" {
			v.answer(name, text)
		}
	}
	other("nearest", true)
	v.answer("highest", top.where())
	otherHighest(v)
	other("also", false)
	v.answer("made by", top.madeBy())
}

// leadLeft is the part about what is left, for which somebody has looked at what holds it.
func (v *view) leadLeft() {
	rest := leftoverOf(v, highestMoment(v).in.pid)
	in := inKernel(v, rest.pid)
	v.answer("still there", in+rest.stillThere())
	if rest.isWorthFreeing() {
		v.answer("to free it", in+rest.toFree(), rest.code()...)
	}
	if text := rest.keptByMalloc(); text != "" {
		v.answer("malloc keeps", in+text, trimming)
	}
}

// answerColumn is where the text of the first lines begins.
const answerColumn = 13

// answer is one of the first lines, wrapped at the width; code in it, which people paste, stays in one piece.
func (v *view) answer(name string, text string, code ...string) {
	if v.told != nil {
		v.told(name, text)
		return
	}
	words := append([][]span{{{escape.Pad(name, answerColumn-1, false), dim}}}, wordsAround(text, code)...)
	v.wrap(strings.Repeat(" ", answerColumn), withUnits(words))
	v.blank()
}

// wordsAround are the words of a text; each code in it is one word.
func wordsAround(text string, code []string) [][]span {
	for _, c := range code {
		if before, after, found := strings.Cut(text, c); found {
			var words [][]span
			if before = strings.TrimSuffix(before, " "); before != "" {
				words = splitWords([]span{{before, plain}})
			}
			words = append(words, []span{{escape.Text(c), plain}})
			if after != "" {
				words = append(words, wordsAround(strings.TrimPrefix(after, " "), code)...)
			}
			return words
		}
	}
	return splitWords([]span{{text, plain}})
}

// withUnits makes one word of a number and the unit behind it.
func withUnits(all [][]span) (out [][]span) {
	for _, word := range all {
		last := len(out) - 1
		if last > 0 && len(word) == 1 && len(out[last]) == 1 && isUnit(word[0].text) && strings.ContainsAny(out[last][0].text, "0123456789") {
			out[last] = []span{{out[last][0].text + " " + word[0].text, word[0].style}}
			continue
		}
		out = append(out, word)
	}
	return out
}

func isUnit(word string) bool {
	switch strings.TrimRight(word, ".,;:)") {
	case "B", "KiB", "MiB", "GiB", "TiB", "%":
		return true
	}
	return false
}

// statementLabel is "line 4" and ": model.fit(X, y)"; the name of a statement that is none of the user's, such as "display and hooks".
func statementLabel(w model.Window, lines []string) (where, source string) {
	if w.Name != "" {
		return escape.Bounded(w.Name, maxName), ""
	}
	text := escape.Lines(w.Source, false, maxLead)
	if w.Line > 0 && w.Line <= len(lines) {
		text = escape.Lines(lines[w.Line-1], false, maxLead)
	}
	where = "one of its lines"
	if w.Line > 0 {
		where = fmt.Sprintf("line %d", w.Line)
	}
	if text != "" {
		source = ": " + strings.TrimSpace(text)
	}
	return where, source
}

// howSure says in one line what the certificate says.
func (m moment) howSure() string {
	reasons := m.v.doubts()
	f, why := m.figure(), ""
	if f.Peak > m.at.figures[m.v.first()].Peak {
		why = ": what forked children share with the kernel, and what they copied"
	}
	switch {
	case !f.Exact && model.Vague(f.Peak, f.Bound):
		reasons = append([]string{"the highest moment is " + words.Vague + why}, reasons...)
	case !f.Exact && f.Bound != nil:
		reasons = append([]string{"the highest moment can be off by " + words.Bytes(*f.Bound) + why}, reasons...)
	case !f.Exact:
		reasons = append([]string{"the highest moment is at least this"}, reasons...)
	}
	if len(reasons) == 0 {
		return "exact: every change arrived, and every peak was computed twice, to the byte the same"
	}
	text := reasons[0]
	if len(reasons) > 1 {
		text += fmt.Sprintf("; and %s, see the end", words.Plural(len(reasons)-1, "more reason"))
	}
	return text
}
