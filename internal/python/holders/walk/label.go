package walk

// Label says how a node is reached from its parent: a step of a path. Only labels of paths that are asked for are
// turned into text.
type Label struct {
	Kind labelKind
	Arg  uint64
}

type labelKind uint8

const (
	labelNothing   labelKind = iota // a part of its parent
	LabelRoot                       // arg: index of Reached.Names
	LabelName                       // arg: address of a str, the name of an attribute
	LabelKey                        // arg: address of an object, the key of a dict
	LabelIndex                      // arg: index of a sequence
	LabelElement                    // an element of a set
	LabelWord                       // arg: offset in an object of some type made in C
	LabelFixed                      // arg: index of Fixed
	LabelClosure                    // arg: address of a str, the name of a free variable
	LabelLocal                      // arg: address of a str, the name of a frame's variable
	LabelTemporary                  // a value on the evaluation stack of a frame
	LabelFlat                       // arg: index of an array's element
	LabelLater                      // not known yet: found out when it is asked for, see [PathWriter.LabelOf]
)

// Fixed are the texts of labels of kind LabelFixed.
var Fixed = [...]string{
	".__class__", ".__globals__", ".__defaults__", ".__kwdefaults__", ".(function)", ".tb_next", ".tb_frame", ".f_back",
	".base", ".__bases__",
	".__callback__", ".f_trace",
	".gi_frame",
}

const (
	fixedClass = iota
	fixedGlobals
	fixedDefaults
	fixedKwDefaults
	fixedFunction
	fixedNext
	fixedFrame
	fixedBack
	fixedBase
	fixedBases
	fixedCallback
	fixedTrace
	fixedGenerator
)

// fixedLabel returns the label with the text Fixed[i].
func fixedLabel(i uint64) Label { return Label{LabelFixed, i} }
