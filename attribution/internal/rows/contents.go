package rows

import (
	"encoding/json"
	"math"
	"strconv"

	"ipytracer/event"
	"ipytracer/model"
)

// ContentsOf returns the facts about an array's elements in the form of the model. It bounds all of them: anybody may
// have written the recording that they come from. nil if they are not valid.
func ContentsOf(c *event.Contents) *model.Contents {
	if c == nil || c.Elements < 0 || c.Seen < 0 || c.Item < 0 {
		return nil
	}
	const longestType, mostNames, mostKinds = 16, 8, 6
	out := &model.Contents{
		Elements: c.Elements, Item: int64(c.Item), Seen: min(c.Seen, c.Elements), Min: NumberOf(c.Min),
		Max: NumberOf(c.Max), Whole: c.Whole, Real: c.Real, Ascending: c.Ascending, ASCII: c.ASCII,
		SameAs: c.SameAs[:min(len(c.SameAs), mostNames)], Longest: max(c.Longest, 0),
	}
	switch c.Layout {
	case "C", "F", "strided":
		out.Layout = c.Layout
	}
	if len(c.Fits) <= longestType {
		out.Fits = c.Fits
	}
	for _, n := range []struct {
		to   *int64
		from int64
	}{{&out.Zeros, c.Zeros}, {&out.Missing, c.Missing}, {&out.Infinite, c.Infinite}, {&out.Distinct, c.Distinct}} {
		*n.to = min(max(n.from, 0), out.Seen)
	}
	for _, k := range c.Kinds {
		switch k.Kind {
		case "str", "int", "float", "bool", "None", "other":
			if k.Count > 0 && len(out.Kinds) < mostKinds {
				out.Kinds = append(out.Kinds, model.ContentsKind{Kind: k.Kind, Count: min(k.Count, out.Seen)})
			}
		}
	}
	out.Objects, out.Characters = min(max(c.Objects, 0), out.Seen), max(c.Characters, 0)
	out.ObjectBytes, out.DistinctBytes = int64(max(c.ObjectBytes, 0)), int64(max(c.DistinctBytes, 0))
	return out
}

// NumberOf returns a number in the form of JSON, "" if the text is not a number or is too long.
func NumberOf(text string) json.Number {
	const longest = 64
	if len(text) > longest {
		return ""
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return json.Number(strconv.FormatInt(n, 10))
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return json.Number(strconv.FormatUint(n, 10))
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return ""
	}
	return json.Number(strconv.FormatFloat(n, 'g', -1, 64))
}
