package text

import (
	"fmt"

	"ipytracer/internal/report/doc"
	"ipytracer/internal/words"
	"ipytracer/model"
)

// maxGPUNotes is the most lines of the notes of GPUs.
const maxGPUNotes = 4

// GPUNotes shows facts to know before the figures of GPUs.
func GPUNotes(to *doc.Document, all []model.GPUNote) {
	shown := 0
	several := false
	for i := range all {
		several = several || all[i].PID != all[0].PID
	}
	for i := range all {
		text := words.GPUNote(&all[i])
		if text == "" {
			continue
		}
		if shown++; shown > maxGPUNotes {
			continue
		}
		if several {
			text += fmt.Sprintf(" (pid %d)", all[i].PID)
		}
		to.Answer(fmt.Sprintf("GPU %d", all[i].GPU), text)
	}
	if more := shown - maxGPUNotes; more > 0 {
		to.Answer("", "and "+words.Plural(more, "more note")+" on GPUs")
	}
}
