// Files writes the input of the tests in browsers and in other tools. The input is the fixtures of
// internal/report/reporttest as pages, or in every format that another tool reads, each beside the JSON of the same
// report. The comparisons are in internal/report/html/page/test and internal/report/viewers/test.
//
//	go run ./internal/report/viewers/files pages|exports DIR
package main

import (
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	write := map[string]func(folder string){"pages": pages, "exports": exports}
	if len(os.Args) != 3 || write[os.Args[1]] == nil {
		log.Fatal("usage: files pages|exports DIR")
	}
	write[os.Args[1]](os.Args[2])
}

func put(folder, name string, data []byte) {
	check(os.WriteFile(filepath.Join(folder, name), data, 0o644))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
