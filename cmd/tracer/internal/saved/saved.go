// Package saved has the commands that read recordings: report, view, audit, advise, diff, merge and plan. Audit and
// advise take running kernels, too.
package saved

import (
	"github.com/spf13/cobra"

	"ipytracer/cmd/tracer/internal/console"
)

// Commands returns the commands that read recordings.
func Commands(c console.Console) []*cobra.Command {
	return []*cobra.Command{
		newReportCommand(c), newViewCommand(c), newAuditCommand(c), newDiffCommand(c), newPlanCommand(c),
		newAdviseCommand(c), newMergeCommand(c), newRecallCommand(c),
	}
}
