package words

import "fmt"

// Doubts of merged recordings.

// MessagesContradict says that the messages between two nodes were not used. Clocks differ in rate by 1 in parts at
// most.
func MessagesContradict(a, b string, parts int) string {
	return fmt.Sprintf("the messages between %s and %s contradict each other: one is received before it is sent, or "+
		"these clocks differ in rate by more than 1 in %d; they were not used", a, b, parts)
}

// ClocksUnbounded says that the places of so many recordings are those of the wall clocks.
func ClocksUnbounded(recordings int) string {
	return fmt.Sprintf("nothing bounds the clocks of %s: the times are those of the wall clocks, and may be off by "+
		"any amount; --clock-error states how far they are apart at most", Plural(recordings, "recording"))
}

// NodeCut says that the recording of a node was cut.
func NodeCut(node string) string {
	return fmt.Sprintf("the recording of %s was cut: what came later is not in any figure", node)
}

// NodeUnknown says that the figures of a node have no upper bound.
func NodeUnknown(node string) string {
	return fmt.Sprintf("figures of %s are lower bounds or missing: the most at once is not known", node)
}

// MessagesAmbiguous says that so many ids of messages were not used.
func MessagesAmbiguous(n int) string {
	return Plural(n, "message") + " with an id that several nodes sent: not used"
}

// MarkersUnlisted says that so many markers found no room.
func MarkersUnlisted(n int) string {
	return Plural(n, "marker") + " of messages without room: not used"
}
