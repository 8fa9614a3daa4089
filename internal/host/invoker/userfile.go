package invoker

// [Rights] open the files that somebody names to a program that runs as root, with that person's rights. The
// kernel itself decides about the user's rights, on a thread that has the user's file system ids and groups and no
// capability (setfsuid(2), credentials(7)). So a rule that lets somebody run the program as root lets nobody write, or
// learn about, a file that they could not have written or seen before. The callers decide about the contents.
//
// In folders that others can write to nothing can be put in the way of a file. A folder is held by descriptor from the
// beginning. A link as the last part of a path is never followed, one before it only if it is root's or the user's own.
// A file is looked at on its descriptor, and nothing that is opened can block or do anything by being opened. A new
// file has no name, where the file system can do without, until it is put in its place.

import (
	"errors"
	"io/fs"
)

var (
	// ErrNotRegular is the error for a path that leads to something that is no file to be written: a link, a folder, a
	// block device, …
	ErrNotRegular = errors.New("not a regular file")
	// ErrForeignLink is the error for a path with a folder that is a link of a user who is neither root nor this one.
	ErrForeignLink = errors.New("a symbolic link of somebody else is part of the path; " +
		"name the folder that it leads to")
	// ErrNobodyReads is the error for a pipe without a reader.
	ErrNobodyReads = errors.New("nobody reads from this pipe")
)

// kindError is an [ErrNotRegular] with the kind of the file.
type kindError struct {
	path string
	what string
}

func (e *kindError) Error() string { return e.path + " is " + e.what }

func (e *kindError) Is(target error) bool { return target == ErrNotRegular }

func pathError(op, path string, err error) error {
	return &fs.PathError{Op: op, Path: path, Err: err}
}
