package html

import "ipytracer/model"

// Schema is the version of the block of data, in its "schema" field. The block is private to this package and page/:
// programs read the report's JSON.
const Schema = "ipytracer/page/v2"

// page is the block of data. Small parts are plain, large ones deflated.
type page struct {
	Schema    string      `json:"schema"`
	Version   int         `json:"version,omitempty"` // of the page, from a server
	Answers   [][2]string `json:"answers"`           // the first lines of the report: a question and its answer
	Doubts    []string    `json:"doubts"`
	Unnamed   []string    `json:"unnamed"` // reasons why stacks are not known in full
	Summit    int         `json:"summit"`  // the id of the cell with the highest moment; 0 for none
	Host      model.Host  `json:"host"`
	GPUs      []string    `json:"gpus,omitempty"` // used GPUs: "GPU 0 NVIDIA H100 80GB HBM3, 79.65 GiB"
	Length    int64       `json:"length"`         // of the session, in nanoseconds
	Meters    []meter     `json:"meters"`
	Body      string      `json:"body"`    // the part that is drawn first: body
	Sources   []sources   `json:"sources"` // of cells, the ones that are drawn first in front
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
	// Left says, in words, what the page leaves out.
	Left []string `json:"left"`

	body `json:"-"`
}

// body has the content of the first screen. Texts is a table with each text once, and other fields have places in that
// table; text 0 is empty. Sources have a table of their own; source 0 is empty.
type body struct {
	Texts    []string `json:"texts"`
	Terms    []term   `json:"terms"` // words of the page, with what they mean
	Rows     rows     `json:"rows"`
	Details  []detail `json:"details"`
	Nodes    nodes    `json:"nodes"`
	Frames   frames   `json:"frames"`
	Timeline []track  `json:"timeline"`
}
