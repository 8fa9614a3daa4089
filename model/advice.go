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
	// Meter is the judged memory, such as cpu.resident or gpu.N.active, of the process and its children together.
	Meter string `json:"meter"`
	// Of is the stretch in which the highest moment is looked for: "session" or "cell".
	Of string `json:"of"`
	// Peak is the value of the meter at that moment, Exact whether it is exact. At is its place, null outside of cells.
	Peak  int64      `json:"peak"`
	Exact bool       `json:"exact"`
	At    *PlanPlace `json:"at"`
	Cells int        `json:"cells"`
	// Notebook is the path of the kernel's notebook; "" if it has none.
	Notebook string `json:"notebook,omitempty"`
	// Items are ten at most: those that avoid a refusal, then the largest saving first.
	Items []AdviceItem `json:"items"`
	// Left counts pieces of advice that are left out, because ten others save more.
	Left int `json:"left"`
	// Unknown are sentences about matters that no item could consider.
	Unknown []string `json:"unknown"`
	// Incomplete are the reasons why the session is not known in full, as in [Certificate]: nothing is exact then.
	Incomplete []string `json:"incomplete,omitempty"`
}

// Accuracies of [AdviceItem.Saves].
const (
	// SavesExact: each byte of it is a block that the recording shows, and the change lets go of.
	SavesExact = "exact"
	// SavesBound: it is at least that much if the change does what it says.
	SavesBound = "bound"
	// SavesGuess: the notebook has to be run to know.
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
	// Saves is by how much lower the highest moment would be. Accuracy says how well that is known.
	Saves    int64  `json:"saves"`
	Accuracy string `json:"accuracy"`
	// Peak is the highest moment with the change, and Then its place; null outside of cells.
	Peak int64      `json:"peak"`
	Then *PlanPlace `json:"then"`
	// Held is the memory that the advice is about, at the highest moment. Saves is less where another moment is nearly
	// as high.
	Held int64 `json:"held"`
	// Edits change the source of cells; none where there is no code that would do it alone.
	Edits []AdviceEdit `json:"edits"`
	// Diff shows them, as a unified diff of the cells; "" without source.
	Diff string `json:"diff,omitempty"`
	// Changes are sentences: what the change may do to results. Unknown are sentences: facts that are not known.
	Changes []string `json:"changes"`
	Unknown []string `json:"unknown"`
	// Try is the command that tries it; "" where there are no edits.
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
	// Text is put in their place, lines without the last one's newline; nothing is put there if Delete is set.
	Text   string `json:"text"`
	Delete bool   `json:"delete,omitempty"`
}

// SourceDigest returns the digest of a cell's source for [AdviceEdit.SourceSHA256].
func SourceDigest(source string) string {
	sum := sha256.Sum256([]byte(strings.TrimRight(source, "\n")))
	return hex.EncodeToString(sum[:])
}
