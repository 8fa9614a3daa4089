package privileges

// [Rights] open the files that a user names to a program that runs as root, with that user's rights. Linux itself
// checks the rights: the files are opened on a thread that has the user's file system ids and groups, and no capability
// (setfsuid(2), credentials(7)). So a user who may run the program as root cannot use it to write, or find out about,
// other files than before. The callers decide about the contents.
//
// In folders that other users can write to, these cannot replace a file by another thing. A folder is used by its
// descriptor from the beginning. A link as the last part of a path is never followed; a link before that only if it is
// root's or the user's own. The kind of a file is checked on its descriptor, before it is opened, so that opening never
// blocks or has another effect. On file systems that allow that, a new file has no name until it is complete.

import (
	"errors"
	"io/fs"
)

var (
	// ErrNotRegular is the error for a path that leads to a link, a folder, a device or another thing that cannot be
	// written as a file.
	ErrNotRegular = errors.New("not a regular file")
	// ErrForeignLink is the error for a path with a symbolic link that belongs neither to root nor to the user.
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
