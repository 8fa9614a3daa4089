package model

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// AdviceSchema is the version of the JSON object of [Advice], in its "schema" field.
const AdviceSchema = "ipytracer/advice/v1"

// Advice lists changes of a notebook's source that would lower its highest moment. Sizes are bytes.
type Advice struct {
	Schema string `json:"schema"`
	// Meter is the judged memory, such as cpu.resident or gpu.N.active, of the process together with its children.
	Meter string `json:"meter"`
	// Of says where the highest moment was searched: in the "session", or in one "cell".
	Of string `json:"of"`
	// Peak is the value of the meter at the highest moment. Exact says whether it is exact. At is the moment's place;
	// null outside of cells.
	Peak  int64      `json:"peak"`
	Exact bool       `json:"exact"`
	At    *PlanPlace `json:"at"`
	Cells int        `json:"cells"`
	// Notebook is the path of the kernel's notebook; "" if it has none.
	Notebook string `json:"notebook,omitempty"`
	// Items are at most ten: first those that avoid a refusal, then by saving, the largest first.
	Items []AdviceItem `json:"items"`
	// Left is the number of items that are left out because ten others save more.
	Left int `json:"left"`
	// Unknown are sentences about evidence that the session lacks.
	Unknown []string `json:"unknown"`
	// Incomplete are the reasons why the session is incomplete, as in [Certificate]: then no saving is exact.
	Incomplete []string `json:"incomplete,omitempty"`
}

// Accuracies of [AdviceItem.Saves].
const (
	// SavesExact: each byte of the saving belongs to a block that the recording shows and that the change frees.
	SavesExact = "exact"
	// SavesBound: the saving is at least that much if the change has the described effect.
	SavesBound = "bound"
	// SavesGuess: only a run of the changed notebook can tell.
	SavesGuess = "guess"
)

// AdviceItem is one piece of advice.
type AdviceItem struct {
	Number int    `json:"number"` // from 1; the number for tracer try --advice
	Kind   string `json:"kind"`   // "delete", "in-place" …; docs/advice.md lists them
	// At is the line that the advice is about. Its Peak is 0.
	At    PlanPlace `json:"at"`
	Names []string  `json:"names,omitempty"` // the variables, columns, modules it is about
	// Title is one sentence that says what takes memory and what to do.
	Title string `json:"title"`
	// Saves is by how much the highest moment would be lower. Accuracy says how reliable that figure is.
	Saves    int64  `json:"saves"`
	Accuracy string `json:"accuracy"`
	// Peak is the height of the highest moment after the change. Then is its place; null outside of cells.
	Peak int64      `json:"peak"`
	Then *PlanPlace `json:"then"`
	// Held is the memory at the highest moment that the advice is about. Saves is less than Held if another moment is
	// nearly as high.
	Held int64 `json:"held"`
	// Edits change the source of cells. There are none if the change cannot be made by code alone.
	Edits []AdviceEdit `json:"edits"`
	// Diff is a unified diff of the edits; "" in a document without source.
	Diff string `json:"diff,omitempty"`
	// Changes are sentences about what the change may do to results. Unknown are sentences about facts that are not
	// known.
	Changes []string `json:"changes"`
	Unknown []string `json:"unknown"`
	// Try is the command that tries the change; "" without edits.
	Try string `json:"try,omitempty"`
}

// AdviceEdit replaces lines of one cell.
type AdviceEdit struct {
	Execution      int  `json:"execution"`       // as in [Window]
	ExecutionCount *int `json:"execution_count"` // as in [Window]
	// SourceSHA256 is the SHA-256 of the cell's source without newlines at its end, in hexadecimal.
	SourceSHA256 string `json:"source_sha256,omitempty"`
	// StartLine to EndLine are replaced, from 1, both included. EndLine is StartLine − 1 to insert before StartLine.
	StartLine int `json:"start_line"`
	EndLine   int `json:"end_line"`
	// Text replaces the lines. It has no newline at its end. If Delete is set, the lines are deleted.
	Text   string `json:"text"`
	Delete bool   `json:"delete,omitempty"`
}

// SourceDigest returns the digest of a cell's source for [AdviceEdit.SourceSHA256].
func SourceDigest(source string) string {
	sum := sha256.Sum256([]byte(strings.TrimRight(source, "\n")))
	return hex.EncodeToString(sum[:])
}
