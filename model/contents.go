package model

import "encoding/json"

// Contents are facts about the elements of an array or of a column, read at the end of the session. Of the elements
// themselves they have only the smallest and the largest number, and no text.
type Contents struct {
	Elements int64 `json:"elements"`
	Item     int64 `json:"item"` // bytes of an element
	// Seen is the number of elements that the facts are about. It is less than Elements for a sample.
	Seen   int64  `json:"seen"`
	Layout string `json:"layout,omitempty"` // "C", "F", "strided"; "" for one axis without gaps
	// Min and Max are the smallest and the largest finite number, exactly; "" if no number is finite, and for texts.
	// Dates count as numbers.
	Min json.Number `json:"min,omitempty"`
	Max json.Number `json:"max,omitempty"`
	// Zeros are elements that are 0, False, or a text without characters; Missing are NaN, NaT and None.
	Zeros    int64 `json:"zeros,omitempty"`
	Missing  int64 `json:"missing,omitempty"`
	Infinite int64 `json:"infinite,omitempty"`
	Whole    bool  `json:"whole,omitempty"` // floats, each finite one of them an integer
	Real     bool  `json:"real,omitempty"`  // complex numbers without imaginary parts
	// Fits is the narrowest dtype of the same kind that holds all read elements without loss; "" if that is the array's
	// own dtype.
	Fits string `json:"fits,omitempty"`
	// Distinct is the number of different values; 0 for more than 256 different numbers, or 100,000 objects.
	Distinct  int64 `json:"distinct,omitempty"`
	Ascending bool  `json:"ascending,omitempty"` // no element is less than the one before it in memory
	Longest   int64 `json:"longest,omitempty"`   // characters of the longest text
	ASCII     bool  `json:"ascii,omitempty"`     // texts have no other characters
	// The following fields describe references to objects; 0 stands for a number that is not known. For these, Min and
	// Max are set only if all objects are ints.
	//
	// Kinds counts the read objects by kind, the most frequent kind first. Objects is the number of different objects,
	// 0 for more than 100,000. ObjectBytes is their own memory; it leaves out None, True and False, which belong to
	// nobody. DistinctBytes is the memory that one object for each different value would have. Characters is the sum of
	// the lengths of all texts.
	Kinds         []ContentsKind `json:"kinds,omitempty"`
	Objects       int64          `json:"objects,omitempty"`
	ObjectBytes   int64          `json:"object_bytes,omitempty"`
	DistinctBytes int64          `json:"distinct_bytes,omitempty"`
	Characters    int64          `json:"characters,omitempty"`
	// SameAs are other variables, by [Variable.Name], and columns (frame['column']) of the process with equal bytes, at
	// most 8.
	SameAs []string `json:"same_as,omitempty"`
}

// ContentsKind counts the objects of a kind: "str", "int", "float", "bool", "None", "other".
type ContentsKind struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
}

// Only reports whether all read objects are of a kind, or missing. It reports false if no object is of the kind.
func (c *Contents) Only(kind string) bool {
	count := int64(0)
	for _, k := range c.Kinds {
		if k.Kind == kind {
			count = k.Count
		}
	}
	return count > 0 && count+c.Missing == c.Seen
}

// IsSample reports whether some elements were not read.
func (c *Contents) IsSample() bool { return c.Seen < c.Elements }
