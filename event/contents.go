package event

// Contents are facts about the elements of an array or of a column, read from outside while the process runs. They hold
// no element but the least and the greatest number, and no text.
type Contents struct {
	Elements int64
	Item     Bytes // of an element
	// Seen is the number of elements that were looked at. Where that is less than Elements, the facts are about a
	// sample: parts of the same size, as far from one another as each other.
	Seen   int64
	Layout string // of several axes in memory: "C", "F" or "strided"; "" for one axis without gaps
	// Min and Max are the least and the greatest finite number in decimal digits: of integers exact, of floats the
	// digits of a float64. "" if there is none, and for texts. Of dates they are the numbers that stand for them.
	Min, Max string
	Zeros    int64 // elements that are 0, False, or a text without characters
	Missing  int64 // NaN, NaT, None
	Infinite int64
	// Whole: floats, each finite one of them an integer. Real: complex numbers without imaginary parts.
	Whole, Real bool
	// Fits is the narrowest dtype of the same kind that holds all that was seen without loss: int16, float32, U8; "" if
	// it is their own.
	Fits string
	// Distinct is the number of different values; 0 for more than 256 of numbers, or 100,000 of objects.
	Distinct  int64
	Ascending bool // no element is less than the one before it in memory
	// Longest is the number of characters of the longest text. ASCII: texts have no other characters.
	Longest int64
	ASCII   bool
	// Of references to objects: Kinds are the kinds of the seen objects, the most frequent first. Objects is the number
	// of different ones, ObjectBytes their own memory; 0 if there are too many, or if it is a sample. DistinctBytes is
	// the memory of one object for each different value; 0 if that is not known. Characters is the sum of the lengths
	// of all texts. Min and Max are of ints, if there is nothing else.
	Kinds         []ContentsKind
	Objects       int64
	ObjectBytes   Bytes
	DistinctBytes Bytes
	Characters    int64
	// SameAs are the names of other variables and columns of the process with the same bytes; 8 at most.
	SameAs []string
}

// ContentsKind is a number of objects of one kind: "str", "int", "float", "bool", "None" or "other".
type ContentsKind struct {
	Kind  string
	Count int64
}
