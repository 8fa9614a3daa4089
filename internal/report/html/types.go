package html

// sources is a part of the table of sources. At has the places of its texts in the table, Data the texts as a deflated
// list.
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
	// Blocks: the meter counts single blocks, so stacks may be known.
	Blocks bool `json:"blocks,omitempty"`
}

// rows are windows and the times between cells. Each field is a column.
type rows struct {
	Kind      ints  `json:"kind"` // 0 session, 1 experiment, 2 cell, 3 statement, 4 between cells
	ID        ints  `json:"id"`   // 0 between cells
	Parent    ints  `json:"parent"`
	PID       ints  `json:"pid"`
	Execution ints  `json:"execution"`
	Label     ints  `json:"label"` // a place in the table of texts, as in all fields that say "text"
	Line      ints  `json:"line"`
	Source    ints  `json:"source"` // a place in the table of sources
	Cut       ints  `json:"cut"`    // rows whose source is longer than shown
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
	// Statements and Between count the statements, and the times between cells, that have no row.
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

// unlisted has the rows with further children, and their number.
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
	Stacks         longs `json:"stacks"`
	AtPeak         int64 `json:"atPeak"`                   // the part of the peak that stacks explain
	Rest           int64 `json:"rest"`                     // the part of the peak that no stack explains
	Unlisted       int   `json:"unlisted,omitempty"`       // stacks that the report does not have
	UnlistedAtPeak int64 `json:"unlistedAtPeak,omitempty"` // their memory at the peak
	More           int   `json:"more,omitempty"`           // stacks that the report has, but not the page
	MoreAtPeak     int64 `json:"moreAtPeak,omitempty"`     // their memory at the peak
	Exact          bool  `json:"exact"`
	// Sampled says, in words, how much is estimated from samples.
	Sampled string `json:"sampled,omitempty"`
}

// nodes are calls on stacks: a tree with the outermost calls as its roots. Node 0 is the empty stack.
type nodes struct {
	Parent ints `json:"parent"`
	Frame  ints `json:"frame"`
}

// frames are calls, each once. Kind is 0 for a cell, 1 for the user's file, 2 for a library, 3 for machine code, and 5
// for unknown callers.
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

// names counts the names without a row.
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

// freeing is code to type to free memory. Code that would have to be escaped or cut is left out.
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

// track is the course of one meter of a process over time.
type track struct {
	PID   int    `json:"pid"`
	Meter int    `json:"meter"`
	Tree  bool   `json:"tree,omitempty"` // of the process and its descendants together
	NS    longs  `json:"ns"`
	Bytes longs  `json:"bytes"`
	Kinds string `json:"kinds"` // a letter each, as model.PointKind
	// Gaps: start, end, why (text), start …
	Gaps longs `json:"gaps"`
}

// advice is the content of the section Advice.
type advice struct {
	Highest string   `json:"highest"` // the moment that it would lower, in words
	None    string   `json:"none,omitempty"`
	Items   []piece  `json:"items"`
	Left    string   `json:"left,omitempty"`
	Not     []string `json:"not"`
}

// piece is one piece of advice.
type piece struct {
	Title   string   `json:"title"`
	Saves   int64    `json:"saves"`
	How     string   `json:"how"` // how well the saving is known
	Peak    int64    `json:"peak"`
	Then    string   `json:"then"`
	Place   string   `json:"place"`
	Diff    string   `json:"diff"`
	Changes []string `json:"changes"`
	Unknown []string `json:"unknown"`
	Try     string   `json:"try"`
	// PID, Execution and Line name the line that the advice is about.
	PID       int `json:"pid"`
	Execution int `json:"execution"`
	Line      int `json:"line"`
}

// term is a word of the page, by all its names, and what it means.
type term struct {
	Names []string `json:"names"`
	Text  string   `json:"text"`
}
