package words

import (
	"fmt"
	"strconv"

	"ipytracer/model"
)

// NameKey names the value that a statement gave a name, among the candidates for advice.
func NameKey(window int, name string) string { return strconv.Itoa(window) + " " + name }

// NameHolds says that a name holds memory behind its last use.
func NameHolds(name string, bytes int64, made, last *model.PlanPlace, never bool) string {
	if never {
		return fmt.Sprintf("%s holds %s from %s on, and nothing uses it: delete it there", name, Bytes(bytes),
			PlaceName(made))
	}
	return fmt.Sprintf("%s holds %s of %s, and %s uses it for the last time: delete it behind that line", name,
		Bytes(bytes), PlaceName(made), PlaceName(last))
}

// NameGone says what a deleted name changes.
func NameGone(name string) string {
	return "cells that are run again, or later, have no " + name
}

// HoldersUnknown says that other holders of a name's memory are not known.
func HoldersUnknown(name string) string {
	return "the session's end does not show " + name + ": something else may hold its memory, too"
}

// MayHold says where something else may have come to hold a name's memory.
func MayHold(name string, at *model.PlanPlace) string {
	return PlaceName(at) + " hands " + name + " on, or a part of it: if something still holds that at the highest " +
		"moment, nothing is saved"
}

// HeapMayKeep says that freed memory of a name may stay with the process.
func HeapMayKeep(name string) string {
	return "the arrays of " + name + " have less than 32 MiB each: the C library may keep what is freed of them, for " +
		"later arrays"
}

// GraphMayHold says that tensors of a name may live on in a graph.
func GraphMayHold(name string) string {
	return "tensors were made of " + name + ", and PyTorch's graph for backward() may hold it, too"
}

// UnknownUses says that a statement may use any name.
func UnknownUses(name string) string {
	return "a later statement is not readable, or runs code from a text (exec, eval): it may use " + name
}

// LoopHolds says that a value of a loop is still there while the next one is made.
func LoopHolds(name string, bytes int64, made *model.PlanPlace) string {
	return fmt.Sprintf("while %s makes the next %s, the one before is still there (%s): "+
		"delete it at the end of each turn", PlaceName(made), name, Bytes(bytes))
}

// LoopGone says what a deleted name of a loop changes.
func LoopGone(name string) string { return "behind the loop there is no " + name }

// LocalHolds says that a name of a function holds memory behind its last use.
func LocalHolds(name, function string, bytes int64, made, last *model.PlanPlace) string {
	return fmt.Sprintf("in %s, %s holds %s of %s behind its last use, %s: delete it there", function, name,
		Bytes(bytes), PlaceName(made), PlaceName(last))
}

// LocalUnknown says what is not known of a function's name.
func LocalUnknown(name string) string {
	return "the caller, or an object that the function made, may hold the memory of " + name + ", too"
}
