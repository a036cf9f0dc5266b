// The parity program answers resolver problems with OLM's own resolver: one problem a line on
// standard input, one outcome a line on standard output, in the same order. README.md says more.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	runs := flag.Int("runs", 1, "how often each problem is solved; outcomes that differ are all told")
	workers := flag.Int("workers", 2, "how many problems are solved at the same time")
	flag.Parse()
	if flag.NArg() > 0 || *runs < 1 || *workers < 1 {
		fmt.Fprintln(os.Stderr, "usage: parity [-runs N] [-workers N] <problems >outcomes, with N at least 1")
		os.Exit(2)
	}
	solve := func(line []byte) []byte { return solveOften(line, *runs) }
	if err := answerLines(os.Stdin, os.Stdout, *workers, solve); err != nil {
		fmt.Fprintln(os.Stderr, "parity:", err)
		os.Exit(1)
	}
}
