// Package filecache keeps the results of analyses of code in files, for later sessions. A result is a value of some
// bytes under a key of some bytes. The users of the package define both.
//
// A [Cache] is opened as root, because a session gives up its rights (internal/host/privileges) before it analyses the
// files of a traced process. From then on the cache only appends to one file, and it cannot reach the folder.
//
// The files may be hostile: a traced process may take over its session, which then writes anything. Therefore each
// cache belongs to one [Domain]: a user, and the root in which the user's processes look up names. Only sessions for
// processes of that user read what sessions for processes of that user have written.
//
// A session can do without a cache, but then takes longer. If the folder or a file is not as expected, there is no
// room, or a file is damaged, the cache finds nothing and keeps nothing.
package filecache

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
)

// Domain identifies a user and a root. All entries of its cache come from sessions for processes of that user in that
// root.
type Domain struct {
	UID    uint32 // of the process, in the tracer's user namespace
	Device uint64 // of the process's root
	Inode  uint64 // of the process's root
}

// name returns the name of the domain's file for a build of the program. Each build has its own files, so that builds
// that are used in turns do not drop each other's entries.
func (d Domain) name(program string) string {
	const programBytes = 8
	return fmt.Sprintf("%d-%x-%x-%x", d.UID, d.Device, d.Inode, header(program)[len(magic):][:programBytes])
}

// Limits for a cache. The places in an interpreter and in NumPy take some 10 KiB each.
const (
	maxValue = 64 << 10 // bytes
	// maxFile is the largest size of a file in bytes. Once a file has reached the size turn, the next session begins
	// another file, and the older file becomes its predecessor. An entry of the predecessor is copied to the new file
	// when a session finds it. The others are dropped with the predecessor, when the new file has reached turn.
	maxFile, turn = 1 << 20, 512 << 10
	// maxDomains is the number of domains that are kept, where each build of the program counts. Each domain has a file
	// and a predecessor.
	maxDomains = 64
)

// Cache has the entries of one domain. The zero Cache, and a nil one, keep nothing. It is safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte][]byte // by hash of the key
	older   map[[sha256.Size]byte][]byte // the predecessor's entries
	file    *os.File                     // open for appending; nil: nothing is kept any more
	size    int64
	found   int
}

// Get returns the value that was kept under a key. The caller must not change the value. ok is false if there is none.
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

// Put keeps a value under a key, unless the same value is there or there is no room.
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

// append adds an entry to the file, in one write: then other programs that append to the file cannot write between its
// bytes.
func (c *Cache) append(at [sha256.Size]byte, value []byte) {
	if c.file == nil {
		return
	}
	record := encode(at, value)
	if c.size += int64(len(record)); c.size > maxFile {
		return
	}
	// Readers recognize an incomplete entry by its sum, and read nothing behind it.
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

// Found returns how often Get has found a value.
func (c *Cache) Found() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.found
}

// Close closes the file. From then on nothing is kept.
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

// A file has a header and then entries. The header identifies the build of the program that may read the file. Sizes
// are in bytes:
//
//	header: magic (8), hash of the program's identity (32)
//	entry:  hash of the key (32), size of the value (4, little endian), value, sum of all before it (8)
const (
	magic      = "ipykept1"
	headerSize = len(magic) + sha256.Size
	lengthSize = 4
	sumSize    = 8
	entrySize  = sha256.Size + lengthSize + sumSize // without the value
)

// header returns the beginning of a program's files.
func header(program string) []byte {
	id := sha256.Sum256([]byte(program))
	return append([]byte(magic), id[:]...)
}

// encode returns an entry.
func encode(at [sha256.Size]byte, value []byte) []byte {
	record := append(make([]byte, 0, entrySize+len(value)), at[:]...)
	record = binary.LittleEndian.AppendUint32(record, uint32(len(value)))
	record = append(record, value...)
	sum := sha256.Sum256(record)
	return append(record, sum[:sumSize]...)
}

// decode returns the entries of a file, up to the first damage. whole is false if the file is damaged.
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
		end := sha256.Size + lengthSize + int(size)
		sum := sha256.Sum256(data[:end])
		if string(sum[:sumSize]) != string(data[end:end+sumSize]) {
			return entries, false
		}
		entries[[sha256.Size]byte(data)] = data[sha256.Size+lengthSize : end : end]
		data = data[end+sumSize:]
	}
	return entries, true
}
