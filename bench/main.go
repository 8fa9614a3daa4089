// Bench makes the inputs of benchmarks, and of tests in browsers and in other tools. It traces nothing and measures
// nothing.
//
//	go run ./bench sessions -kind notebook -n 20000 -o long.arrows
//	go run ./bench numpysites "FOLDER/VERSION COMPILER CASE.so" ...
//	go run ./bench pages|exports DIR
//	go run ./bench reports NAME FILE.arrows > NAME.jsonl
//
// pages and exports write the fixtures of internal/report/reporttest as pages, or in every format that another tool
// reads, each beside the JSON of the same report. The comparisons are in internal/report/html/page/test and
// internal/report/viewers/test.
package main

import (
	"log"
	"os"
)

func main() {
	log.SetFlags(0)
	commands := map[string]func(arguments []string){"sessions": sessions, "numpysites": numpySites, "pages": pages,
		"exports": exports, "reports": reports}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		log.Fatal("usage: bench sessions|numpysites|pages|exports|reports ARGUMENTS")
	}
	commands[os.Args[1]](os.Args[2:])
}
