// Package filecache keeps the results of analyses of code in files, for later sessions. To the cache a result is a
// value of some bytes, under a key of some bytes. Its users define both, and the files for which a result holds.
//
// A session parses files that a traced process has mapped, and by then the session has given up its rights
// ([ipytracer/internal/host/confine]). So a [Cache] is opened before that, as root. Afterwards the cache has two
// descriptors left: one of a file that is only read, and one of a file that is appended to. Nothing else can be reached
// any more, least of all the folder.
//
// The files are hostile in turn: a process may take over its session, and the session then writes what the process
// likes. So each cache belongs to one [Domain]: the user of a process, and the root in which its names are looked up.
// Only sessions for a user's processes read what a session for that user's processes has written.
//
// A cache is never needed. Where the folder or a file is not as it should be, there is no room, or the file is damaged,
// nothing is found and nothing is kept, and a session takes longer.
package filecache

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
)

// Domain names the user and the root of the files of a cache: everything that is read there was written on behalf of
// that user's processes in the same root.
type Domain struct {
	UID    uint32 // of the process, as the tracer's user namespace has it
	Device uint64 // of the process's root
	Inode  uint64
}

// name returns the name of the domain's files for a build of the program. Builds that are used in turns do not drop
// each other's files.
func (d Domain) name(program string) string {
	return fmt.Sprintf("%d-%x-%x-%x", d.UID, d.Device, d.Inode, header(program)[len(magic):][:8])
}

// Bounds of a cache, in bytes. The places in an interpreter and in NumPy take some 10 KiB each.
const (
	maxValue = 64 << 10
	// maxFile is the largest size of a file. When a file has reached the size turn, a session begins another file. Each
	// entry of the older file is moved to the new one when a session finds it. The older file's other entries are
	// dropped at the next turn.
	maxFile, turn = 1 << 20, 512 << 10
	// maxDomains is the number of domains that are kept, with those of other builds. Each domain has a file and the
	// file's predecessor. A file takes only as much room as its contents.
	maxDomains = 64
)

// Cache has the entries of one domain. The zero value and nil keep nothing. Safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte][]byte
	older   map[[sha256.Size]byte][]byte // the predecessor's entries, which are kept anew when they are found
	file    *os.File                     // open for appending; nil: nothing is kept any more
	size    int64
	found   int
}

// Get returns the value that was kept under a key. The caller must not change the value. ok is false where there is
// none.
func (c *Cache) Get(key []byte) (value []byte, ok bool) {
	if c == nil {
		return nil, false
	}
	at := sha256.Sum256(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if value, ok = c.entries[at]; !ok {
		if value, ok = c.older[at]; ok {
			c.append(at, value)
		}
	}
	if ok {
		c.found++
	}
	return value, ok
}

// Put keeps a value under a key, if there is room and no such value is there yet.
func (c *Cache) Put(key, value []byte) {
	if c == nil || len(value) > maxValue {
		return
	}
	at := sha256.Sum256(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.entries[at]; ok && string(known) == string(value) {
		return
	}
	c.append(at, value)
}

// append adds an entry to the file. Where a file is open for appending, no other write comes between the bytes of one
// write.
func (c *Cache) append(at [sha256.Size]byte, value []byte) {
	if c.file == nil {
		return
	}
	record := encode(at, value)
	if c.size += int64(len(record)); c.size > maxFile {
		return
	}
	// A cut entry is recognized by its sum, and ends the file.
	if n, err := c.file.Write(record); err != nil || n != len(record) {
		_ = c.file.Close()
		c.file = nil
		return
	}
	if c.entries == nil {
		c.entries = map[[sha256.Size]byte][]byte{}
	}
	c.entries[at] = value
}

// Found returns how many values were asked for and found.
func (c *Cache) Found() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found
}

// Close gives the files back. Nothing is kept from then on.
func (c *Cache) Close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		_ = c.file.Close()
		c.file = nil
	}
}

// A file is a header, and entries one behind the other. The header says which build of which program may read it.
//
//	header: magic (8 bytes), the program's identity (32)
//	entry:  key (32), size of the value (4, little endian), value, sum of all of these (8)
const (
	magic      = "ipykept1"
	headerSize = len(magic) + sha256.Size
	sumSize    = 8
	entrySize  = sha256.Size + 4 + sumSize // without the value
)

// header is the beginning of every file of a program.
func header(program string) []byte {
	id := sha256.Sum256([]byte(program))
	return append([]byte(magic), id[:]...)
}

// encode makes an entry.
func encode(at [sha256.Size]byte, value []byte) []byte {
	record := append(make([]byte, 0, entrySize+len(value)), at[:]...)
	record = binary.LittleEndian.AppendUint32(record, uint32(len(value)))
	record = append(record, value...)
	sum := sha256.Sum256(record)
	return append(record, sum[:sumSize]...)
}

// decode takes a file apart. whole is false where something that is no entry follows the last entry: no entry behind
// that can be found.
func decode(data []byte, program string) (entries map[[sha256.Size]byte][]byte, whole bool) {
	entries = map[[sha256.Size]byte][]byte{}
	if len(data) < headerSize || string(data[:headerSize]) != string(header(program)) {
		return entries, false
	}
	for data = data[headerSize:]; len(data) > 0; {
		if len(data) < entrySize {
			return entries, false
		}
		size := binary.LittleEndian.Uint32(data[sha256.Size:])
		if size > maxValue || len(data) < entrySize+int(size) {
			return entries, false
		}
		end := sha256.Size + 4 + int(size)
		sum := sha256.Sum256(data[:end])
		if string(sum[:sumSize]) != string(data[end:end+sumSize]) {
			return entries, false
		}
		entries[[sha256.Size]byte(data)] = data[sha256.Size+4 : end : end]
		data = data[end+sumSize:]
	}
	return entries, true
}
