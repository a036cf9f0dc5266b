package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestOutcomesKeepTheOrderOfProblems(t *testing.T) {
	first := make(chan struct{})
	answer := func(line []byte) []byte {
		if string(line) == "slow" {
			<-first
		} else {
			close(first)
		}
		return line
	}
	var out bytes.Buffer
	if err := answerLines(strings.NewReader("slow\n\nfast"), &out, 2, answer); err != nil {
		t.Fatal(err)
	}
	if out.String() != "slow\nfast\n" {
		t.Errorf("got %q", out.String())
	}
}

func TestAPanicIsTheOutcomeOfOneProblemOnly(t *testing.T) {
	answer := func(line []byte) []byte {
		if string(line) == "bad" {
			panic("out of luck")
		}
		return line
	}
	var out bytes.Buffer
	if err := answerLines(strings.NewReader("bad\ngood\n"), &out, 1, answer); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], `{"outcome":"error","message":"panic: out of luck`) || lines[1] != "good" {
		t.Errorf("got %q", lines)
	}
}

func TestWhatIsNoProblemIsAnError(t *testing.T) {
	for _, line := range []string{`[]`, `{"catalogs"`, `{"installed":[{"name":"a","provides":["K"]}]}`} {
		if got := string(solveOften([]byte(line), 1)); !strings.HasPrefix(got, `{"outcome":"error","message":"reading the problem: `) {
			t.Errorf("%s: got %s", line, got)
		}
	}
}

func TestOutcomesThatDifferAreAllTold(t *testing.T) {
	if got := string(oneOrAll(map[string]struct{}{`{"b":1}`: {}, `{"a":1}`: {}})); got != `{"outcome":"varies","outcomes":[{"a":1},{"b":1}]}` {
		t.Error(got)
	}
	if got := string(oneOrAll(map[string]struct{}{`{"a":1}`: {}})); got != `{"a":1}` {
		t.Error(got)
	}
}
