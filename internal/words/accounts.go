package words

import (
	"strings"

	"ipytracer/model"
)

// Which parts of an account are named.
const (
	Hardly     = 50       // a part must have this share, one in 50, of the account
	leastPages = 64 << 10 // bytes that must be pages of a file, or shared, to be mentioned
)

// Account returns the largest parts of an account, at most the given number, and the sum of the others; "" if no part
// is large. late says that the process began before the session.
func Account(a *model.Account, most int, late bool) string {
	var texts []string
	shown, unexplained, more := int64(0), int64(0), 0
	for i := range a.Parts {
		switch p := &a.Parts[i]; {
		case p.Kind == model.PartRest:
			unexplained = p.Bytes
		case len(texts) < most && p.Bytes >= a.Bytes/Hardly:
			text := partOfEnd(p)
			if a.At == model.AtHighest {
				text = partOfHighest(p, a.Meter, late)
			}
			texts = append(texts, text)
			shown += p.Bytes
		default:
			more++
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return strings.Join(append(texts, otherParts(a.Bytes-shown, unexplained, more, a.Bytes/Hardly)...), " · ")
}

// otherParts describes the rest of an account: left bytes in more small parts, of which some are not explained. These
// count as one more small part if they are fewer than least.
func otherParts(left, unexplained int64, more int, least int64) (texts []string) {
	switch {
	case unexplained >= least || more == 0:
		left -= unexplained
	case unexplained > 0:
		more, unexplained = more+1, 0
	}
	if left > 0 {
		texts = append(texts, Bytes(left)+" in "+Plural(more, "smaller part"))
	}
	if unexplained > 0 {
		texts = append(texts, Bytes(unexplained)+" not explained")
	}
	return texts
}

// partOfHighest describes a part of the memory at the highest moment of a meter, not escaped.
func partOfHighest(p *model.AccountPart, meter string, late bool) string {
	bytes := Sampled(Bytes(p.Bytes), p.Sampled)
	if p.UpTo {
		bytes = "up to " + bytes
	}
	switch p.Kind {
	case model.PartLine:
		return bytes + " " + Meter(p.Meter) + " " + p.Who
	case model.PartCell:
		return bytes + " " + Meter(meter) + " " + p.Who
	case model.PartBefore:
		if late {
			return bytes + " from before the attach"
		}
		return bytes + " from before the first cell"
	case model.PartLines:
		return bytes + " of other lines"
	case model.PartCells:
		return bytes + " of other cells"
	case model.PartWhere:
		return bytes + " " + ResidentPart(&model.ResidentPart{Kind: p.Who, File: p.File}, 0)
	case model.PartChildren:
		if p.UpTo || sumOf(p.Sizes) != p.Bytes {
			return p.Who + " " + bytes
		}
		return p.Who + " " + sizes(p.Sizes)
	}
	return bytes + " not explained"
}

// partOfEnd describes a part of the memory that is left at the end, not escaped.
func partOfEnd(p *model.AccountPart) string {
	bytes := Sampled(Bytes(p.Bytes), p.Sampled)
	switch p.Kind {
	case model.PartName:
		return p.Who + " " + BytesOrMore(p.Bytes, !p.AtLeast) + mapped(p)
	case model.PartLine:
		text := bytes + " " + Meter(p.Meter) + " of " + p.Who
		if p.Lost {
			text += ", lost in a cycle that the collector does not see"
		}
		return text
	case model.PartWhere:
		return BytesOrMore(p.Bytes, !p.AtLeast) + " " + ResidentPart(&model.ResidentPart{Kind: p.Who, File: p.File}, 0)
	case model.PartObjects:
		return bytes + " of other objects"
	case model.PartUnseen:
		return bytes + " of objects that were not all looked at"
	case model.PartChildren:
		return processes(len(p.PIDs), p.Who) + " " + Bytes(p.Bytes) + " (" + p.Ends + ")"
	}
	return bytes
}

// mapped says how much of a name's memory is pages of a file, or shared: " (2.00 MiB of it shared memory)"; "" for
// little.
func mapped(p *model.AccountPart) string {
	kind := "pages of a file"
	if p.Pages == SharedMemory {
		kind = "shared memory"
	}
	switch {
	case p.Mapped < leastPages || p.Pages == "":
		return ""
	case p.Bytes-p.Mapped < p.Bytes/20:
		return " (" + kind + ")"
	}
	return " (" + Bytes(p.Mapped) + " of it " + kind + ")"
}
