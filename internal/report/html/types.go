package html

import "ipytracer/model"

// Schema is the version of the block of data, in its "schema" field. The block is private to this package and page/:
// programs read the report's JSON.
const Schema = "ipytracer/page/v2"

// page is the block of data. Small parts are plain, large ones deflated.
type page struct {
	Schema    string      `json:"schema"`
	Version   int         `json:"version,omitempty"` // of the page, from a server
	Answers   [][2]string `json:"answers"`
	Doubts    []string    `json:"doubts"`
	Unnamed   []string    `json:"unnamed"` // missing stacks, names and texts
	Summit    int         `json:"summit"`  // the id of a window; 0 for none
	Host      model.Host  `json:"host"`
	GPUs      []string    `json:"gpus,omitempty"` // used GPUs: "GPU 0 NVIDIA H100 80GB HBM3, 79.65 GiB"
	Length    int64       `json:"length"`         // of the session, in nanoseconds
	Meters    []meter     `json:"meters"`
	Body      string      `json:"body"`    // the part that is drawn first: body
	Sources   []sources   `json:"sources"` // of cells: those that are drawn first, first
	Lines     []line      `json:"lines"`
	Variables []variable  `json:"variables"`
	ToFree    []freeing   `json:"toFree"`
	Names     names       `json:"names"`
	Resident  []resident  `json:"resident"`
	Tensors   []tensors   `json:"tensors"`
	Processes []process   `json:"processes"`
	Audit     *audit      `json:"audit,omitempty"`
	Advice    *advice     `json:"advice,omitempty"`
	Proof     proof       `json:"proof"`
	// Left says, in words, how much has no room in the page.
	Left []string `json:"left"`

	body `json:"-"`
}

// body has the content of the first screen. Texts are in a table, each once, and fields have their places in it; text 0
// is empty. Sources have a table of their own; source 0 is empty.
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
	// Blocks: it counts single blocks, so stacks may be known.
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
	Cut       ints  `json:"cut"`    // rows with a source that is longer than shown
	Status    ints  `json:"status"` // text; 0 for a good end
	Start     longs `json:"start"`
	Duration  longs `json:"duration"`
	CPU       longs `json:"cpu"`
	// Remarks are special circumstances: row, text, row, text …
	Remarks ints     `json:"remarks"`
	Figures []figure `json:"figures"` // by meter
	Trees   trees    `json:"trees"`
	// Children of windows: the largest, and the number of the others.
	Children []child  `json:"children"`
	Unlisted unlisted `json:"unlisted"`
	// Statements and Between are the numbers of these without a row.
	Statements int `json:"statements,omitempty"`
	Between    int `json:"between,omitempty"`
}

// figure has the figures of one meter, in bytes.
type figure struct {
	Start    longs `json:"start"`
	Need     longs `json:"need"` // peak − start
	Consumed longs `json:"consumed"`
	// Off is 0 for an exact figure, else its error bound, unknown, or absent. It is left out if all are exact.
	Off longs `json:"off,omitempty"`
}

// trees are figures with children that differ from the window's own, by row, then by meter.
type trees struct {
	Row      ints  `json:"row"`
	Meter    ints  `json:"meter"`
	Start    longs `json:"start"`
	Need     longs `json:"need"`
	Consumed longs `json:"consumed"`
	Off      longs `json:"off"`
}

// unlisted is the number of further children of a row, by row.
type unlisted struct {
	Row  ints `json:"row"`
	More ints `json:"more"`
}

// Values of Off for a figure without a known bound.
const (
	unknown = -1 // without a bound: the figure is at least this
	absent  = -2 // no figure
)

type child struct {
	Row     int     `json:"row"`
	PID     int     `json:"pid"`
	Command int     `json:"command"` // text
	Figures []int64 `json:"figures"` // meter, start, need, consumed, off, meter …
}

// detail has the allocations of one meter in a window.
type detail struct {
	Row   int `json:"row"`
	Meter int `json:"meter"`
	// Stacks: node, at peak, allocated, freed, count, node …
	Stacks longs `json:"stacks"`
	// AtPeak is the part of the peak that these and the unlisted explain, and Rest the unexplained part. Unlisted are
	// not in the report. More are in the report and not in the page, with their memory at the peak.
	AtPeak         int64 `json:"atPeak"`
	Rest           int64 `json:"rest"`
	Unlisted       int   `json:"unlisted,omitempty"`
	UnlistedAtPeak int64 `json:"unlistedAtPeak,omitempty"`
	More           int   `json:"more,omitempty"`
	MoreAtPeak     int64 `json:"moreAtPeak,omitempty"`
	Exact          bool  `json:"exact"`
	// Sampled is the part that is estimated from samples.
	Sampled string `json:"sampled,omitempty"`
}

// nodes are calls on stacks: a tree with the outermost calls as its roots. Node 0 is the empty stack.
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
	Kernel    ints `json:"kernel,omitempty"` // text: the kernel of its cell; left out with one kernel
}

type line struct {
	At        int   `json:"at"` // its index in lines[] of the report
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
	At      int    `json:"at"` // its index in variables[] of the report
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
	// Execution and Line name the cell that made its largest piece, 0 for none.
	Execution int `json:"execution,omitempty"`
	Line      int `json:"line,omitempty"`
}

// names counts those without a row.
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

// freeing is code to type to free memory. Code is whole: code that could be shown only with changes is left out.
type freeing struct {
	At     int    `json:"at"`
	PID    int    `json:"pid"`
	Type   string `json:"type"`
	Bytes  int64  `json:"bytes"`
	Device int64  `json:"device,omitempty"`
	Exact  bool   `json:"exact"`
	// Objects: the bytes are those of objects. By how much memory falls is not known.
	Objects bool   `json:"objects,omitempty"`
	Names   string `json:"names"` // "" for memory that waits for the collector only
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
	Ended   string  `json:"ended,omitempty"` // in words, unless it ended by itself
	Late    bool    `json:"late,omitempty"`
	Limits  []limit `json:"limits"`
	Figures []int64 `json:"figures"` // meter, start, need, consumed, off, meter …
}

// limit is an upper limit of a meter of a process.
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
	// PID and Execution name the cell to change, or else the first that it comes from; 0 for none.
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
	Meters    [][4]string `json:"meters"`            // name, quality of its figures, number of proven windows, source
	Probes    []probe     `json:"probes"`
	Problems  []string    `json:"problems"`
}

type probe struct {
	Name string `json:"name"`
	Site string `json:"site"`
	Hits uint64 `json:"hits"`
}
