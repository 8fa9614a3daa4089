package html

import "ipytracer/model"

// Schema is that of the block of data, in its "schema" field. The block is between this package and page/: programs read the report's JSON.
const Schema = "ipytracer/page/v2"

// page is the block of data: what is small, as it is; what is not, in parts that are deflated.
type page struct {
	Schema    string      `json:"schema"`
	Version   int         `json:"version,omitempty"` // of the page, where a server gives it out
	Answers   [][2]string `json:"answers"`
	Doubts    []string    `json:"doubts"`
	Unnamed   []string    `json:"unnamed"` // what is missing of who allocated
	Summit    int         `json:"summit"`  // the id of a window; 0 for none
	Host      model.Host  `json:"host"`
	GPUs      []string    `json:"gpus,omitempty"` // that were used: "GPU 0 NVIDIA H100 80GB HBM3, 79.65 GiB"
	Length    int64       `json:"length"`         // of the session, in nanoseconds
	Meters    []meter     `json:"meters"`
	Body      string      `json:"body"`    // what is drawn first: body
	Sources   []sources   `json:"sources"` // of cells: those that are drawn first, first
	Lines     []line      `json:"lines"`
	Variables []variable  `json:"variables"`
	ToFree    []freeing   `json:"toFree"`
	Names     names       `json:"names"`
	Resident  []resident  `json:"resident"`
	Tensors   []tensors   `json:"tensors"`
	Processes []process   `json:"processes"`
	Audit     *audit      `json:"audit,omitempty"`
	Proof     proof       `json:"proof"`
	// Left says, in words, what has no room in the page.
	Left []string `json:"left"`

	body `json:"-"`
}

// body has what the first sight of the page is made of. Texts are in a table, each once, and referred to by their places in it; text 0 is
// the empty one. Sources have a table of their own; source 0 is the empty one.
type body struct {
	Texts    []string `json:"texts"`
	Rows     rows     `json:"rows"`
	Details  []detail `json:"details"`
	Nodes    nodes    `json:"nodes"`
	Frames   frames   `json:"frames"`
	Timeline []track  `json:"timeline"`
}

// sources are some of the sources: their places in the table, and a list of as many texts, deflated.
type sources struct {
	At   ints   `json:"at"`
	Data string `json:"data"`
}

type meter struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Source string `json:"source"`
	Part   bool   `json:"part,omitempty"`
	GPU    bool   `json:"gpu,omitempty"`
	// Blocks: it counts single blocks, so that who made them may be known.
	Blocks bool `json:"blocks,omitempty"`
}

// rows are windows and the times between cells, one column a field.
type rows struct {
	Kind      ints  `json:"kind"` // 0 session, 1 experiment, 2 cell, 3 statement, 4 between cells
	ID        ints  `json:"id"`   // 0 between cells
	Parent    ints  `json:"parent"`
	PID       ints  `json:"pid"`
	Execution ints  `json:"execution"`
	Label     ints  `json:"label"` // text
	Line      ints  `json:"line"`
	Source    ints  `json:"source"` // in the table of sources
	Cut       ints  `json:"cut"`    // rows whose source is longer than shown
	Status    ints  `json:"status"` // text; 0 where it ended well
	Start     longs `json:"start"`
	Duration  longs `json:"duration"`
	CPU       longs `json:"cpu"`
	// Remarks are what is special: row, text, row, text …
	Remarks ints     `json:"remarks"`
	Figures []figure `json:"figures"` // by meter
	Trees   trees    `json:"trees"`
	// Children of windows: those that took most, and how many more there are.
	Children []child  `json:"children"`
	Unlisted unlisted `json:"unlisted"`
	// Statements and Between are how many of these have no row.
	Statements int `json:"statements,omitempty"`
	Between    int `json:"between,omitempty"`
}

// figure has the figures of one meter, in bytes.
type figure struct {
	Start    longs `json:"start"`
	Need     longs `json:"need"` // peak − start
	Consumed longs `json:"consumed"`
	// Off is 0 for an exact figure, how far it can be off, unknown, or absent. It is left out where all are exact.
	Off longs `json:"off,omitempty"`
}

// trees are figures with children where they differ from the window's own, by row, then by meter.
type trees struct {
	Row      ints  `json:"row"`
	Meter    ints  `json:"meter"`
	Start    longs `json:"start"`
	Need     longs `json:"need"`
	Consumed longs `json:"consumed"`
	Off      longs `json:"off"`
}

// unlisted is how many children more a row has, by row.
type unlisted struct {
	Row  ints `json:"row"`
	More ints `json:"more"`
}

// What off says of a figure that is not exact by a known bound.
const (
	unknown = -1 // nobody can say: it is at least this
	absent  = -2 // there is none
)

type child struct {
	Row     int     `json:"row"`
	PID     int     `json:"pid"`
	Command int     `json:"command"` // text
	Figures []int64 `json:"figures"` // meter, start, need, consumed, off, meter …
}

// detail is who allocated in a window, of one meter.
type detail struct {
	Row   int `json:"row"`
	Meter int `json:"meter"`
	// Stacks: node, at peak, allocated, freed, count, node …
	Stacks longs `json:"stacks"`
	// AtPeak and Rest: how much of the peak these and the unlisted explain, and how much is not explained. Unlisted are not in the report,
	// More are in the report and not in the page, with what they have at the peak.
	AtPeak         int64 `json:"atPeak"`
	Rest           int64 `json:"rest"`
	Unlisted       int   `json:"unlisted,omitempty"`
	UnlistedAtPeak int64 `json:"unlistedAtPeak,omitempty"`
	More           int   `json:"more,omitempty"`
	MoreAtPeak     int64 `json:"moreAtPeak,omitempty"`
	Exact          bool  `json:"exact"`
	// Sampled says how far they are estimated from samples.
	Sampled string `json:"sampled,omitempty"`
}

// nodes are calls on stacks: a tree of which the outermost calls are the roots. Node 0 is the empty stack.
type nodes struct {
	Parent ints `json:"parent"`
	Frame  ints `json:"frame"`
}

// frames are calls, each once. Kind is 0 a cell's, 1 the user's file, 2 a library, 3 machine code.
type frames struct {
	Function  ints `json:"function"` // text
	File      ints `json:"file"`     // text; the module of machine code
	Line      ints `json:"line"`
	Execution ints `json:"execution"`
	Count     ints `json:"count"` // In[N]; −1 for none
	Kind      ints `json:"kind"`
	Kernel    ints `json:"kernel,omitempty"` // text: whose cell it is; left out where there is one kernel
}

type line struct {
	At        int   `json:"at"` // which of lines[] of the report
	PID       int   `json:"pid"`
	Meter     int   `json:"meter"`
	Frame     int   `json:"frame"`
	AtPeak    int64 `json:"atPeak"`
	Allocated int64 `json:"allocated"`
	Freed     int64 `json:"freed"`
	Left      int64 `json:"left"`
	Count     int64 `json:"count"`
	Sampled   bool  `json:"sampled,omitempty"`
}

type variable struct {
	At      int    `json:"at"` // which of variables[] of the report
	PID     int    `json:"pid"`
	Name    string `json:"name"`
	Also    string `json:"also,omitempty"`
	Kind    string `json:"kind"`
	Type    string `json:"type"`
	Shape   string `json:"shape"`
	Bytes   int64  `json:"bytes"`
	Reaches int64  `json:"reaches"`
	Device  int64  `json:"device,omitempty"`
	Exact   bool   `json:"exact"`
	Maker   string `json:"maker"`
	Before  bool   `json:"before,omitempty"`
	// Execution and Line are of the cell that made its largest piece, 0 for none.
	Execution int `json:"execution,omitempty"`
	Line      int `json:"line,omitempty"`
}

// names are those that have no row.
type names struct {
	Unlisted int64 `json:"unlisted"`
	Bytes    int64 `json:"bytes"`
	Complete bool  `json:"complete"`
}

type resident struct {
	At       int    `json:"at"`
	PID      int    `json:"pid"`
	Total    int64  `json:"total"`
	Trim     int64  `json:"trim"`
	Complete bool   `json:"complete"`
	Parts    []part `json:"parts"`
}

type part struct {
	Text  string `json:"text"`
	Bytes int64  `json:"bytes"`
}

type tensors struct {
	At    int    `json:"at"`
	Meter int    `json:"meter"`
	Size  int64  `json:"size"`
	Count int64  `json:"count"`
	Bytes int64  `json:"bytes"`
	Who   string `json:"who"`
}

// freeing is what to type to free memory. Code is whole: what would have to be changed to be shown is no code, and is not here.
type freeing struct {
	At     int    `json:"at"`
	PID    int    `json:"pid"`
	Type   string `json:"type"`
	Bytes  int64  `json:"bytes"`
	Device int64  `json:"device,omitempty"`
	Exact  bool   `json:"exact"`
	Names  string `json:"names"` // "" for what waits for the collector only
}

type process struct {
	At      int     `json:"at"`
	PID     int     `json:"pid"`
	Parent  int     `json:"parent"`
	Command string  `json:"command"`
	Python  string  `json:"python,omitempty"`
	IPython string  `json:"ipython,omitempty"`
	Start   int64   `json:"start"`
	End     int64   `json:"end"`
	Ended   string  `json:"ended,omitempty"` // in words, where it did not end by itself
	Late    bool    `json:"late,omitempty"`
	Limits  []limit `json:"limits"`
	Figures []int64 `json:"figures"` // meter, start, need, consumed, off, meter …
}

// limit is what a process may use of a meter.
type limit struct {
	Meter int    `json:"meter"`
	Bytes int64  `json:"bytes"`
	Text  string `json:"text"`
}

type audit struct {
	AllClear string    `json:"allClear,omitempty"`
	Least    int64     `json:"least"`
	Verdicts []verdict `json:"verdicts"`
	More     int       `json:"more,omitempty"` // verdicts without a place in the page
	Held     []held    `json:"held"`
	MoreHeld int       `json:"moreHeld,omitempty"`
	Not      []string  `json:"not"`
}

type verdict struct {
	Title    string `json:"title"`
	Meter    string `json:"meter"`
	Bytes    int64  `json:"bytes"`
	Count    int64  `json:"count"`
	Line     string `json:"line"`
	Cells    string `json:"cells"`
	Age      int64  `json:"age"`
	Holder   string `json:"holder"`
	Probable bool   `json:"probable,omitempty"`
	Evidence string `json:"evidence"`
	Advice   string `json:"advice"`
	Fix      string `json:"fix"`
	// PID and Execution are of the cell to change, or else of the first that it comes from; 0 for none.
	PID       int `json:"pid"`
	Execution int `json:"execution"`
}

type held struct {
	Meter  string `json:"meter"`
	By     string `json:"by"`
	Holder string `json:"holder"`
	Bytes  int64  `json:"bytes"`
	Count  int64  `json:"count"`
}

// proof is the certificate.
type proof struct {
	Complete  bool        `json:"complete"`
	Finished  string      `json:"finished"`
	Made      uint64      `json:"made"`
	Delivered uint64      `json:"delivered"`
	Losses    string      `json:"losses"`
	Defects   uint64      `json:"defects,omitempty"` // boundaries lost
	Frees     [][2]string `json:"frees"`             // of memory made before the attach, in words
	Meters    [][4]string `json:"meters"`            // name, what its figures are, how many windows are proven, served by
	Probes    []probe     `json:"probes"`
	Problems  []string    `json:"problems"`
}

type probe struct {
	Name string `json:"name"`
	Site string `json:"site"`
	Hits uint64 `json:"hits"`
}
