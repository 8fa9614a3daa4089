package model

import "encoding/json"

// Contents are facts about the elements of an array or of a column, as they were when they were read, at the end of the
// session. They hold no element but the least and the greatest number, and no text.
type Contents struct {
	Elements int64 `json:"elements"`
	Item     int64 `json:"item"` // bytes of an element
	// Seen is the number of elements that all facts are about: less than Elements for a sample.
	Seen   int64  `json:"seen"`
	Layout string `json:"layout,omitempty"` // "C", "F", "strided"; "" for one axis without gaps
	// Min and Max are the least and the greatest finite number, exact; "" if there is none, and for texts. Dates are
	// numbers here.
	Min json.Number `json:"min,omitempty"`
	Max json.Number `json:"max,omitempty"`
	// Zeros are elements that are 0, False, or a text without characters; Missing are NaN, NaT and None.
	Zeros    int64 `json:"zeros,omitempty"`
	Missing  int64 `json:"missing,omitempty"`
	Infinite int64 `json:"infinite,omitempty"`
	Whole    bool  `json:"whole,omitempty"` // floats, each finite one of them an integer
	Real     bool  `json:"real,omitempty"`  // complex numbers without imaginary parts
	// Fits is the narrowest dtype of the same kind that holds all elements that were seen without loss; "" if it is
	// their own.
	Fits string `json:"fits,omitempty"`
	// Distinct is the number of different values; 0 for more than 256 of numbers, or 100,000 of objects.
	Distinct  int64 `json:"distinct,omitempty"`
	Ascending bool  `json:"ascending,omitempty"` // no element is less than the one before it in memory
	Longest   int64 `json:"longest,omitempty"`   // characters of the longest text
	ASCII     bool  `json:"ascii,omitempty"`     // texts have no other characters
	// Of references to objects: Kinds are the kinds of the seen objects, the most frequent first. Objects is the number
	// of different ones; 0 for more than 100,000. ObjectBytes is their own memory, each once; None, True and False are
	// nobody's. DistinctBytes is the memory of one object for each different value, Characters the sum of the lengths
	// of all texts. 0 is not known. Min and Max are of ints, if there is nothing else.
	Kinds         []ContentsKind `json:"kinds,omitempty"`
	Objects       int64          `json:"objects,omitempty"`
	ObjectBytes   int64          `json:"object_bytes,omitempty"`
	DistinctBytes int64          `json:"distinct_bytes,omitempty"`
	Characters    int64          `json:"characters,omitempty"`
	// SameAs are other variables, by [Variable.Name], and columns (frame['column']) of the process with the same bytes;
	// 8 at most.
	SameAs []string `json:"same_as,omitempty"`
}

// ContentsKind is a number of objects of a kind: "str", "int", "float", "bool", "None", "other".
type ContentsKind struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

// Only reports whether all objects that were seen are of a kind, or missing. It is false if there are none.
func (c *Contents) Only(kind string) bool {
	count := int64(0)
	for _, k := range c.Kinds {
		if k.Kind == kind {
			count = k.Count
		}
	}
	return count > 0 && count+c.Missing == c.Seen
}

// IsSample reports whether not all elements were looked at.
func (c *Contents) IsSample() bool { return c.Seen < c.Elements }
