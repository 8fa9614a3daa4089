package text

import (
	"slices"

	"ipytracer/internal/words"
)

// Programs reserve memory that they hardly touch, such as np.zeros. So a line counts in resident memory with the pages
// that it touched first. Where these are as many as the line's blocks, the size of the blocks is the exact figure.

// sampleSlack is the part of a line's touched memory, one in so many, by which samples may miss the blocks' size.
const sampleSlack = 50

// touched returns the callers that made resident memory, with the bytes that each has there. Without samples of touched
// pages it returns all callers as they are.
func touched(callers []*caller) (made []*caller) {
	pages, blocks := map[string]*caller{}, map[string]int64{}
	for _, c := range callers {
		switch {
		case c.Meter == residentMeter:
			pages[c.Key()] = c
		case words.LiesWithin(c.Meter):
			blocks[c.Key()] += c.AtPeak
		}
	}
	if len(pages) == 0 {
		return callers
	}
	full := map[string]bool{} // paths that touched all of their blocks
	for key, p := range pages {
		full[key] = p.AtPeak >= blocks[key]-slackOf(p)
	}
	return slices.DeleteFunc(callers, func(c *caller) bool {
		isFull := full[c.Key()]
		if c.Meter != residentMeter {
			return !words.LiesWithin(c.Meter) || !isFull
		}
		least := slackOf(c)
		if isFull {
			c.AtPeak -= blocks[c.Key()]
		}
		return isFull && blocks[c.Key()] > 0 && c.AtPeak < least
	})
}

func slackOf(c *caller) int64 { return max(WorthShowing, c.AtPeak/sampleSlack) }
