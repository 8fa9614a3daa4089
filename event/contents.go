package event

// Contents are facts about the elements of an array or of a column, read from outside while the process runs. Of the
// elements themselves they have only the smallest and the largest number, and no text.
type Contents struct {
	Elements int64
	Item     Bytes // size of an element
	// Seen is the number of elements that were read. If it is less than Elements, the facts are about a sample: parts
	// of equal size, at equal distances.
	Seen   int64
	Layout string // of several axes in memory: "C", "F" or "strided"; "" for one axis without gaps
	// Min and Max are the smallest and the largest finite number, in decimal digits: exact for integers, the digits of
	// a float64 for floats, and the numbers that stand for dates. They are "" for texts, and if no number is finite.
	Min, Max string
	Zeros    int64 // elements that are 0, False, or a text without characters
	Missing  int64 // NaN, NaT, None
	Infinite int64
	// Whole: all finite floats are integers.
	// Real: the complex numbers have no imaginary parts.
	Whole, Real bool
	// Fits is the narrowest dtype of the same kind that holds all read elements without loss: int16, float32, U8; "" if
	// that is the array's own dtype.
	Fits string
	// Distinct is the number of different values. It is 0 for more than 256 different numbers, or 100,000 objects.
	Distinct  int64
	Ascending bool // no element is less than the one before it in memory
	// Longest is the number of characters of the longest text.
	// ASCII: the texts have ASCII characters only.
	Longest int64
	ASCII   bool
	// The following fields describe references to objects. For these, Min and Max are set only if all objects are ints.
	//
	// Kinds counts the read objects by kind, the most frequent kind first. Objects is the number of different objects,
	// and ObjectBytes their own memory; both are 0 for a sample, or if the objects are too many. DistinctBytes is the
	// memory that one object for each different value would have; 0 if that is not known. Characters is the sum of the
	// lengths of all texts.
	Kinds         []ContentsKind
	Objects       int64
	ObjectBytes   Bytes
	DistinctBytes Bytes
	Characters    int64
	// SameAs are the names of other variables and columns of the process with equal bytes, at most 8.
	SameAs []string
}

// ContentsKind counts the objects of a kind: "str", "int", "float", "bool", "None" or "other".
type ContentsKind struct {
	Kind  string
	Count int64
}
