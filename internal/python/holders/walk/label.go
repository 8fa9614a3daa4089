package walk

// Label is the way in which a node is reached from its parent. It is turned into text only for the paths that are asked
// for.
type Label struct {
	Kind labelKind
	Arg  uint64
}

type labelKind uint8

const (
	labelNothing   labelKind = iota // a part of its parent
	LabelRoot                       // arg: index of walker.names
	LabelName                       // arg: address of a str, the name of an attribute
	LabelKey                        // arg: address of an object, the key of a dict
	LabelIndex                      // arg: of a sequence
	LabelElement                    // of a set
	LabelWord                       // arg: bytes from the beginning of an object of some type made in C
	LabelFixed                      // arg: index of fixed
	LabelClosure                    // arg: address of a str, the name of a free variable
	LabelLocal                      // arg: address of a str, the name of a frame's variable
	LabelTemporary                  // on the evaluation stack of a frame
	LabelFlat                       // arg: index of an array's element
	LabelLater                      // it is found out when it is asked for, see labelOf
)

// Fixed are the names that the walker gives itself.
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

func named(i uint64) Label { return Label{LabelFixed, i} }
