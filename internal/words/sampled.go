package words

import (
	"fmt"
	"math"

	"ipytracer/event"
)

// Sampled marks a size or a count that is estimated from samples.
func Sampled(what string, is bool) string {
	if is {
		return "~" + what
	}
	return what
}

// SampledLines describes how far lines are estimated, given the estimated bytes at the peak.
func SampledLines(bytes int64) string {
	return fmt.Sprintf("~ %s at the peak are estimated, ± %s: of blocks below 64 KiB only samples were told "+
		"at times, to keep the overhead budget. The meter counted each.",
		Bytes(bytes), Bytes(SampledError(bytes)))
}

// SampledBlocks describes the knowledge of an audit about small blocks.
func SampledBlocks() (why, advice string) {
	return "blocks below 64 KiB were told as samples at times, to keep the overhead budget: " +
			"a verdict about such blocks counts each that was told as 64 KiB, which is right in the mean",
		"'--budget off' has all of them told"
}

// SampledError returns an upper bound of the standard error of an estimate of that many bytes. A sample of n bytes is
// reported with a probability of n in [event.SampleOf], on its own: the variance of the estimate from k samples is
// below k times the square of that.
func SampledError(bytes int64) int64 {
	return int64(math.Sqrt(float64(event.SampleOf) * float64(max(0, bytes))))
}
