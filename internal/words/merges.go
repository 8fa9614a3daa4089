package words

import "fmt"

// The functions below return the doubts about merged recordings, in words.

// MessagesContradict says that the messages between nodes a and b were not used. 1 in parts is the most by which the
// rates of their clocks may differ.
func MessagesContradict(a, b string, parts int) string {
	return fmt.Sprintf("the messages between %s and %s contradict each other: one is received before it is sent, or "+
		"these clocks differ in rate by more than 1 in %d; they were not used", a, b, parts)
}

// ClocksUnbounded says that this number of recordings is placed by wall clocks only.
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

// MessagesAmbiguous says that n ids of messages were not used.
func MessagesAmbiguous(n int) string {
	return Plural(n, "message") + " with an id that several nodes sent: not used"
}

// MarkersUnlisted says that n markers of messages found no room.
func MarkersUnlisted(n int) string {
	return Plural(n, "marker") + " of messages without room: not used"
}
