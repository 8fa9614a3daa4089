package attribution

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ipytracer/attribution/internal/rows"
	"ipytracer/event"
	"ipytracer/model"
)

// TestContents: facts about elements are the recorded ones.
func TestContents(t *testing.T) {
	got := rows.ContentsOf(&event.Contents{Elements: 10, Seen: 10, Item: 8, Layout: "F", Min: "-9223372036854775808",
		Max: "18446744073709551615", Zeros: 3, Missing: 2, Infinite: 1, Whole: true, Fits: "int16", Distinct: 4,
		Ascending: true, SameAs: []string{"b"},
		Kinds:   []event.ContentsKind{{Kind: "str", Count: 7}, {Kind: "None", Count: 2}},
		Objects: 6, ObjectBytes: 5, DistinctBytes: 4, Characters: 3})
	want := &model.Contents{Elements: 10, Seen: 10, Item: 8, Layout: "F", Min: "-9223372036854775808",
		Max: "18446744073709551615", Zeros: 3, Missing: 2, Infinite: 1, Whole: true, Fits: "int16", Distinct: 4,
		Ascending: true, SameAs: []string{"b"},
		Kinds:   []model.ContentsKind{{Kind: "str", Count: 7}, {Kind: "None", Count: 2}},
		Objects: 6, ObjectBytes: 5, DistinctBytes: 4, Characters: 3}
	if got.Only("str") || got.Only("int") {
		t.Error("one object is neither a text nor missing")
	}
	if !reflect.DeepEqual(got, want) || got.IsSample() {
		t.Errorf("%+v, want %+v", got, want)
	}
	text, err := json.Marshal(got)
	if err != nil || !strings.Contains(string(text), `"min":-9223372036854775808,"max":18446744073709551615,`) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestContentsOfARecordingByAnybody: no fact says more than the array has elements, and what is no number is none.
func TestContentsOfARecordingByAnybody(t *testing.T) {
	for _, c := range []*event.Contents{
		nil, {Elements: -1}, {Elements: 1, Seen: -1}, {Elements: 1, Item: -1},
	} {
		if got := rows.ContentsOf(c); got != nil {
			t.Errorf("%+v", got)
		}
	}
	most := int64(math.MaxInt64)
	got := rows.ContentsOf(&event.Contents{Elements: 5, Seen: most, Zeros: most, Missing: -1, Infinite: most,
		Distinct: most,
		Longest:  -1, Layout: "<b>", Fits: strings.Repeat("f", 1000), SameAs: make([]string, 1000),
		Kinds: slices.Repeat([]event.ContentsKind{
			{Kind: "<b>", Count: 1}, {Kind: "str", Count: most}, {Kind: "int", Count: -1},
		}, 9),
		Objects: most, ObjectBytes: -1, DistinctBytes: -1, Characters: -1})
	if len(got.Kinds) != 6 || got.Kinds[0] != (model.ContentsKind{Kind: "str", Count: 5}) || got.Objects != 5 ||
		got.ObjectBytes != 0 || got.DistinctBytes != 0 || got.Characters != 0 {
		t.Errorf("%+v", got)
	}
	if got.Seen != 5 || got.Zeros != 5 || got.Missing != 0 || got.Infinite != 5 || got.Distinct != 5 ||
		got.Longest != 0 || got.Layout != "" || got.Fits != "" || len(got.SameAs) != 8 {
		t.Errorf("%+v", got)
	}
	for _, text := range []string{"", "nan", "inf", "-Infinity", "0x1p-2", "1e999", "<b>", "1 ",
		strings.Repeat("9", 1000)} {
		n := rows.NumberOf(text)
		if _, err := json.Marshal(n); err != nil || n != "" && text != "0x1p-2" {
			t.Errorf("%q: %q, %v", text, n, err)
		}
	}
	for text, want := range map[string]json.Number{"-0.5": "-0.5", "1e30": "1e+30", "007": "7", "+3": "3",
		"18446744073709551615": "18446744073709551615", "0.10000000149011612": "0.10000000149011612"} {
		if n := rows.NumberOf(text); n != want {
			t.Errorf("%q: %q", text, n)
		}
	}
}
